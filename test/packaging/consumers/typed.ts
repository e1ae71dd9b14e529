import { createLimiter, type Decision, fixedWindow, type Limiter, LimiterError } from 'sluice'
import { type RedisConnection, type RedisStore, redisStore } from 'sluice/redis'
import { type ManualClock, manualClock } from 'sluice/testing'

// A project may have neither the types of Node nor those of the browser.
declare const console: { log(text: string): void }

const clock: ManualClock = manualClock(0)
const limiter: Limiter = createLimiter({ name: 'consumer', rule: fixedWindow({ limit: 2, window: 1_000 }), clock })
const tiered: Limiter<'user' | 'ip'> = createLimiter({
  name: 'tiers',
  tiers: { user: fixedWindow({ limit: 2, window: 1_000 }), ip: fixedWindow({ limit: 9, window: 1_000 }) },
  clock,
})

async function main(): Promise<void> {
  const decisions: Decision[] = []
  for (let request = 0; request < 3; request++) decisions.push(await limiter.consume('user:1', { cost: 1 }))
  clock.advance(1_000)
  decisions.push(await limiter.consume({ kind: 'user', name: '1' }))
  const over: Decision = await tiered.consume({ user: 'a', ip: 'b' }, { cost: { user: 3 } })
  if (over.limitedBy !== 'user') throw new Error(`limited by ${over.limitedBy}`)
  console.log(JSON.stringify(decisions))
}

// A client of one's own; nothing is sent before the first decision.
const connection: RedisConnection = { send: async () => [1, 1, 0, 1_000, 0], sendToAll: async () => 'OK' }
const shared: RedisStore = redisStore(connection, { prefix: 'consumer:' })
if (shared.name !== 'redis') throw new Error(shared.name)

// @ts-expect-error Types that could not be found would be any, and any would accept this.
const misspelt = (): Limiter => createLimiter({ nam: 'consumer', rule: fixedWindow({ limit: 2, window: 1_000 }) })
if (misspelt instanceof LimiterError) throw misspelt

// @ts-expect-error There is no such tier.
const unknown = (): Promise<Decision> => tiered.consume({ usr: 'a' })
if (unknown instanceof LimiterError) throw unknown

main()
