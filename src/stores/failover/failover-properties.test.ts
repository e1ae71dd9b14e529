import fc from 'fast-check'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { runs } from '../../../test/effort.ts'
import { type Behaviour, remoteStore } from '../../../test/remote-store.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import { slidingLog } from '../../rules/sliding-log/sliding-log.ts'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import { manualClock } from '../../testing/manual-clock.ts'

beforeEach(() => void vi.spyOn(console, 'warn').mockImplementation(() => {}))
afterEach(() => vi.restoreAllMocks())

const LIMIT = 12
const WINDOW_MS = 10_000

type Event =
  | { readonly kind: 'ask'; readonly who: number; readonly cost: number }
  | { readonly kind: 'store'; readonly who: number; readonly behaviour: Behaviour }
  | { readonly kind: 'pass'; readonly ms: number }

const events = (instances: number): fc.Arbitrary<readonly Event[]> => {
  const who = fc.nat({ max: instances - 1 })
  return fc.array(
    fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({ kind: fc.constant('ask' as const), who, cost: fc.integer({ min: 1, max: 3 }) }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          kind: fc.constant('store' as const),
          who,
          behaviour: fc.constantFrom<Behaviour>('answers', 'answers', 'fails', 'silent'),
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 4_000 }) }),
      },
    ),
    { minLength: 20, maxLength: 120 },
  )
}

/** The most that passed in any window. */
function mostIn(admissions: readonly { readonly atMs: number; readonly cost: number }[]): number {
  let most = 0
  for (const { atMs } of admissions) {
    const within = admissions.filter((other) => other.atMs >= atMs && other.atMs < atMs + WINDOW_MS)
    most = Math.max(
      most,
      within.reduce((sum, { cost }) => sum + cost, 0),
    )
  }
  return most
}

it('whatever fails when, no window has more than the limit and every share, and no decision is late', async () => {
  const cases = fc.integer({ min: 1, max: 4 }).chain((instances) => fc.tuple(fc.constant(instances), events(instances)))
  await fc.assert(
    fc.asyncProperty(cases, async ([instances, happening]) => {
      const clock = manualClock(1_000_000)
      const server = { memory: memoryStore() }
      const rule = slidingLog({ limit: LIMIT, window: WINDOW_MS })
      const processes = Array.from({ length: instances }, () => {
        const store = remoteStore(server)
        return { store, limiter: createLimiter({ name: 'api', rule, store, clock, instances, denialCache: false }) }
      })
      const admissions: { atMs: number; cost: number }[] = []
      let late = 0
      for (const event of happening) {
        if (event.kind === 'pass') await clock.run(event.ms)
        else if (event.kind === 'store')
          (processes[event.who] as (typeof processes)[0]).store.behaviour = event.behaviour
        else {
          const { limiter } = processes[event.who] as (typeof processes)[0]
          const askedMs = clock.nowMs()
          const { cost } = event
          void limiter.consume('a', { cost }).then(({ allowed }) => {
            if (clock.nowMs() > askedMs + 500) late++
            if (allowed) admissions.push({ atMs: clock.nowMs(), cost })
          })
          await clock.run(0)
        }
      }
      await clock.run(1_000)
      const closing = Promise.all(processes.map(({ limiter }) => limiter.close()))
      await clock.run(1_000)
      await closing
      expect(clock.pendingTimers).toBe(0)
      expect(late).toBe(0)
      expect(mostIn(admissions)).toBeLessThanOrEqual(LIMIT + instances * Math.floor(LIMIT / instances))
    }),
    { numRuns: runs('limiter') },
  )
})

const BEHAVIOURS = { up: 'answers', restarted: 'answers', down: 'fails', silent: 'silent' } as const

/** What the server does for a while. It is restarted without its data. */
const spells = fc.array(
  fc.record({
    kind: fc.constantFrom('up', 'down', 'silent', 'restarted'),
    seconds: fc.oneof(fc.integer({ min: 1, max: 15 }), fc.integer({ min: 16, max: 120 })),
  }),
  { minLength: 2, maxLength: 8 },
)

it('instances that are counted keep to their shares, however often the server is gone and comes back without its data', async () => {
  // Every how many seconds each of them asks: none is idle long enough to need no share.
  const paces = fc.array(fc.constantFrom(1, 1, 3, 25), { minLength: 1, maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(paces, spells, async (everySeconds, happening) => {
      const clock = manualClock(1_000_000)
      const server = { memory: memoryStore() }
      const rule = slidingLog({ limit: LIMIT, window: WINDOW_MS })
      const processes = everySeconds.map((pace) => {
        const store = remoteStore(server)
        return { pace, store, limiter: createLimiter({ name: 'api', rule, store, clock, denialCache: false }) }
      })
      const admissions: { atMs: number; cost: number }[] = []
      const work = async (seconds: number): Promise<void> => {
        for (let second = 0; second < seconds; second++) {
          for (const { limiter, pace } of processes) {
            const askedAtOnce = Math.floor(clock.nowMs() / 1_000) % pace === 0 ? LIMIT : 0
            const atMs = clock.nowMs()
            for (let count = 0; count < askedAtOnce; count++) {
              void limiter.consume('a').then(({ allowed, decidedBy }) => {
                if (allowed && decidedBy === 'fallback') admissions.push({ atMs, cost: 1 })
              })
            }
          }
          await clock.run(1_000)
        }
      }
      await work(60)
      for (const { kind, seconds } of happening) {
        if (kind === 'restarted') server.memory = memoryStore()
        for (const { store } of processes) store.behaviour = BEHAVIOURS[kind]
        await work(seconds)
      }
      const instances = processes.length
      expect(mostIn(admissions)).toBeLessThanOrEqual(instances * Math.floor(LIMIT / instances))
    }),
    { numRuns: runs('long') },
  )
})
