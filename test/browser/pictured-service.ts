import { fileURLToPath } from 'node:url'
import type { LimitResult } from '../../src/core/decision.ts'
import type { Store } from '../../src/core/store.ts'
import type { Key } from '../../src/limiter/options.ts'
import { readPolicies } from '../../src/policies/read-policies.ts'
import { createService } from '../../src/service/service.ts'
import { randomFrom } from '../../src/simulate/random.ts'
import { type ManualClock, manualClock } from '../../src/testing/manual-clock.ts'
import { type RemoteStore, remoteStore } from '../remote-store.ts'
import { TOKEN } from './running-service.ts'

const POLICIES = `policies:
  api: { rule: sliding-window, limit: 250, window: 10s }
  messages:
    tiers:
      user: { rule: token-bucket, capacity: 40, refill: 4, period: 1s }
      ip: { rule: fixed-window, limit: 60, window: 10s, shadow: true }
  uploads: { rule: gcra, limit: 6, period: 1s, burst: 12 }
`

const SECONDS = 600

/** A service that has seen ten minutes of traffic and an outage of its store within a moment, on a clock of its own. */
export async function picturedService(): Promise<{ url: string; stop: () => Promise<void> }> {
  const clock = manualClock(Date.now() - SECONDS * 1_000)
  const store = remoteStore()
  store.error = new Error('connect ECONNREFUSED 10.0.0.5:6379')
  const service = await createService({
    policies: readPolicies(POLICIES, 'limits.yaml'),
    store: faraway(store, clock),
    place: '10.0.0.5:6379',
    token: TOKEN,
    version: '0.1.0',
    page: fileURLToPath(new URL('../../dist/page/', import.meta.url)),
    clock,
  })
  const random = randomFrom(11)
  for (let second = 0; second < SECONDS; second++) {
    store.behaviour = second > 250 && second < 285 ? 'fails' : 'answers'
    const asked = service
      .limiters()
      .flatMap((limiter) =>
        listKeys(limiter.name, second, random).map((key) => limiter.consume(key).catch(() => undefined)),
      )
    await clock.run(1_000)
    await Promise.all(asked)
  }
  const { address, port } = await service.listen('127.0.0.1', 0)
  const stop = async (): Promise<void> => {
    const closed = service.close(0)
    // What is still under way waits on the clock.
    await clock.run(60_000)
    await closed
  }
  return { url: `http://${address}:${port}`, stop }
}

/** The same store, some milliseconds away. */
function faraway(store: RemoteStore, clock: ManualClock): Store {
  const random = randomFrom(5)
  return {
    ...store,
    decide(call, reply) {
      const done = (results: readonly LimitResult[]): void => {
        const lagMs = random.next() < 0.03 ? random.whole(3, 12) : random.whole(1, 2)
        clock.timer(lagMs, () => reply.done(results))
      }
      return store.decide(call, { done, failed: (error) => reply.failed(error) })
    },
  }
}

/** Who comes in a second: a tide of many, a crowd now and then, and one who is always in a hurry. */
function listKeys(policy: string, second: number, random: ReturnType<typeof randomFrom>): Key<string>[] {
  const tide = 1 + 0.5 * Math.sin(second / 80)
  const crowd = second % 170 < 25 ? 2.5 : 1
  const often = { api: 90, messages: 24, uploads: 5 }[policy] as number
  return Array.from({ length: Math.round(often * tide * crowd * (0.8 + 0.4 * random.next())) }, () => {
    const caller = random.next() < 0.35 ? 42 : random.whole(1, 30)
    return policy === 'messages' ? { user: `${caller}`, ip: `203.0.113.${caller % 9}` } : `user:${caller}`
  })
}
