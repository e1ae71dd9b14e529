import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Store } from '../../src/core/store.ts'
import { readPolicies } from '../../src/policies/read-policies.ts'
import type { RuleForm } from '../../src/rules/rule-form.ts'
import { memoryStore } from '../../src/stores/memory/memory-store.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { everyRule, ruleNames } from '../rule-registry.ts'
import type { Address } from '../servers/ask.ts'
import { useServer } from '../servers/shared-servers.ts'
import { serving } from './service-stage.ts'

let server: Address
let redis: Redis
beforeAll(async () => {
  server = await useServer()
  redis = new Redis(server.port, server.host)
})
afterAll(async () => {
  await redis.quit()
})

/** A file in which every key has 100 in a time, by each rule, and by slices that change too. */
const fileOf = (time: string): string => `policies:
${everyRule.map(({ name, forms }) => `  ${name}: { rule: ${name}, ${hundredIn(forms[0], time)}, timeout: 1h }`).join('\n')}
  slices: { rule: strict-window, limit: 100, window: ${time}, slices: ${time === '1d' ? 24 : 10}, timeout: 1h }
`
const NAMES = [...ruleNames, 'slices']

/** The options that a rule needs: 100 wherever it counts, and the time wherever it takes one. */
function hundredIn(form: RuleForm, time: string): string {
  const needed = form.fields.filter(({ example }) => example !== undefined)
  return needed.map((field) => `${field.name}: ${field.kind === 'duration' ? time : 100}`).join(', ')
}

describe.each<[string, () => Store]>([
  ['in memory', memoryStore],
  ['on Redis', () => redisStore(redis)],
])('a file that is edited, %s', (_, store) => {
  it.each([
    ['10m', '1d'],
    ['1d', '10m'],
  ])('keeps 10 of 100 used: from %s to %s', async (before, after) => {
    await redis.flushall()
    const clock = manualClock(1_700_000_000_000)
    const { service, post, remaining } = await serving({ yaml: fileOf(before), clock, store: store() })
    for (const policy of NAMES) await post('/v1/consume', { policy, key: 'a', cost: 10 })
    service.reload(readPolicies(fileOf(after), 'policies.yaml'))
    for (const policy of NAMES) {
      expect([policy, await remaining(policy, 'a')]).toEqual([policy, 90])
      expect((await post('/v1/consume', { policy, key: 'a' })).body).toMatchObject({ allowed: true, remaining: 89 })
    }
  })
})
