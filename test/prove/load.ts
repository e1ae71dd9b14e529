import { createLimit } from '../../src/core/limit.ts'
import { createConsume } from '../../src/core/operation.ts'
import type { Rule } from '../../src/core/rule.ts'
import { type Random, randomFrom } from '../../src/simulate/random.ts'
import { VirtualTime } from '../../src/simulate/virtual-time.ts'
import { memoryStore } from '../../src/stores/memory/memory-store.ts'
import { History } from './history.ts'
import { Process } from './process.ts'
import { dateAt, Server } from './server.ts'

/** Requests on one key, from several processes. */
export interface Load {
  readonly rule: Rule
  readonly processes: number
  /** Requests a second, of all processes. */
  readonly rate: number
  /** The share of them that the first process gets; the others get alike. Absent: all get alike. */
  readonly firstShare?: number
  /** How long requests come before anything is measured, and from then on. */
  readonly warmMs: number
  readonly measuredMs: number
}

/** What came of it. */
export interface Measured {
  readonly callsPerSecond: number
  readonly admitted: number
  /** What an exact limiter would admit that has no network. */
  readonly exact: number
}

/** A process that gets requests on one key. */
interface Loaded {
  readonly admitted: number
  readonly calls: number
  consume(): void
}

/** Makes the processes of a load, all of which ask one server. */
export type Crew = (time: VirtualTime, random: Random, rule: Rule) => () => Loaded

/** Plays processes, and beside them one limiter that gets the same requests at the same times. */
export function playLoad(
  { rule, processes, rate, firstShare, warmMs, measuredMs }: Load,
  crew: Crew = prefetching,
): Measured {
  const random = randomFrom(processes)
  const time = new VirtualTime()
  const start = crew(time, random, rule)
  const all = Array.from({ length: processes }, start)
  const exact = createExact(rule)
  const arrive = (): void => {
    const isFirst = firstShare !== undefined && random.next() < firstShare
    const one = isFirst ? all[0] : all[random.whole(firstShare === undefined ? 0 : 1, processes - 1)]
    one?.consume()
    exact.consume(dateAt(time))
    time.after((1_000 * random.exponential()) / rate, arrive)
  }
  const count = (): Measured => ({
    callsPerSecond: all.reduce((sum, { calls }) => sum + calls, 0),
    admitted: all.reduce((sum, { admitted }) => sum + admitted, 0),
    exact: exact.admitted,
  })
  arrive()
  time.run(warmMs)
  const before = count()
  time.run(warmMs + measuredMs)
  const after = count()
  return {
    callsPerSecond: ((after.callsPerSecond - before.callsPerSecond) * 1_000) / measuredMs,
    admitted: after.admitted - before.admitted,
    exact: after.exact - before.exact,
  }
}

/** Processes with the client that there is. */
const prefetching: Crew = (time, random, rule) => {
  const server = new Server(time, new History(), {})
  let ids = 0
  const world = { time, random, rule, createId: () => ++ids, server: () => server }
  return () => {
    const process = new Process(world)
    return {
      consume: () => process.consume('hot'),
      get admitted() {
        return process.admitted
      },
      get calls() {
        return process.countCalls(server)
      },
    }
  }
}

function createExact(rule: Rule): { admitted: number; consume(nowMs: number): void } {
  const store = memoryStore()
  const limit = createLimit({ limiter: 'exact', rule })
  store.register(limit)
  const operations = [createConsume(limit, 'hot', 'hot', 1, 0)]
  return {
    admitted: 0,
    consume(nowMs) {
      const [result] = store.decide({ operations, nowMs, idempotency: undefined, timeoutMs: 0 })
      if (result?.allowed) this.admitted++
    },
  }
}
