import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { run } from '../../src/cli/program.ts'
import { connectRedis } from '../../src/cli/redis/redis-url.ts'
import { STORE_TIME } from '../../src/core/clock.ts'
import { createPolicyLimiter } from '../../src/policies/create-policy-limiter.ts'
import { type Policy, readPolicies } from '../../src/policies/read-policies.ts'
import { slidingLog } from '../../src/rules/index.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { openLimit } from '../open-limit.ts'
import { recordingTerminal } from '../recording-terminal.ts'
import { type SharedServers, useCluster } from '../servers/shared-servers.ts'
import { inspected, type KeyStage, RULES, said, startKeyStage, TIERS } from './key-stage.ts'
import { writePolicies } from './policy-file.ts'

let stage: KeyStage
let url: string
beforeAll(async () => {
  stage = await startKeyStage()
  url = stage.url
})
afterAll(() => stage?.stop())

const names = readPolicies(RULES, '').map(({ name }) => name)

describe.each(names)('inspect, by %s,', (name) => {
  const key = `user:${name}`
  const look = async (...args: string[]) => {
    const file = await writePolicies(RULES)
    return (await inspected(key, '--policies', file, '--policy', name, '--redis', url, ...args))[0]
  }

  it('reports a key that is not there', async () => {
    const { decision, limits } = await look()
    expect(decision).toMatchObject({ allowed: true, remaining: 5, limitedBy: null, reason: null })
    expect(limits[0].stored).toMatchObject({ type: 'none', ttlMs: null, bytes: null, state: null, debt: 0, holds: [] })
  })

  it('says what is counted, held, owed and blocked, and changes nothing by that', async () => {
    const limiter = stage.limiterNamed(RULES, name)
    await limiter.consume(key, { cost: 2 })
    await limiter.reserve(key, { estimate: 1, expiresIn: 3_000_000 })
    const before = await stage.redis.client.getBuffer(await keyName())
    const used = await look('--cost', '3')
    expect(used).toMatchObject({ policy: name, key, cost: 3, place: `127.0.0.1:${stage.server.port}` })
    expect(used.decision).toMatchObject({ allowed: false, remaining: 2, reason: 'limit', limitedBy: name })
    expect(used.limits[0].stored).toMatchObject({ type: 'string', debt: 0, blockedUntilMs: null })
    expect(used.limits[0].stored.bytes).toBeGreaterThan(50)
    expect(used.limits[0].stored.ttlMs).toBeGreaterThan(used.decision.resetAfterMs - 5_000)
    expect(used.limits[0].stored.holds).toMatchObject([{ amount: 1 }])
    expect(await stage.redis.client.getBuffer(await keyName())).toEqual(before)

    await limiter.charge(key, 7)
    await limiter.block(key, 600_000)
    const owed = await look()
    expect(owed.decision).toMatchObject({ allowed: false, remaining: 0, reason: 'blocked' })
    expect(owed.limits[0].stored.debt).toBe(5)
    const leftMs = owed.limits[0].stored.blockedUntilMs - owed.atMs
    expect(leftMs).toBeGreaterThan(540_000)
    expect(leftMs).toBeLessThanOrEqual(600_000)
    expect((await look('--cost', '6')).decision).toMatchObject({ reason: 'cost-exceeds-limit', retryAfterMs: null })

    await limiter.reset(key)
    await limiter.block(key, 600_000)
    expect((await look()).limits[0].stored).toMatchObject({ state: null, debt: 0, blockedUntilMs: expect.any(Number) })

    async function keyName(): Promise<string> {
      return (await look()).limits[0].stored.name
    }
  })
})

describe('inspect for people', () => {
  it('says what, why, by which limit and when', async () => {
    const file = await writePolicies(TIERS)
    const limiter = stage.limiterNamed(TIERS, 'messages')
    await limiter.consume({ user: '42', ip: { kind: 'ip', name: '::1' }, all: 'all' }, { cost: 2 })
    await limiter.reserve({ ip: { kind: 'ip', name: '::1' } }, { estimate: 1, expiresIn: 900_000 })
    await limiter.charge({ ip: { kind: 'ip', name: '::1' } }, 2)
    await limiter.block({ user: '42' }, 60_000)
    const { code, out } = await said(
      ...['inspect', 'user=42,ip=ip~::1,all=all', '--policies', file, '--policy', 'messages', '--redis', url],
    )
    expect(code).toBe(0)
    const moment = '[\\d-]{10} [\\d:.]{12}'
    for (const line of [
      `user=42, ip=ip~::1, all=all by the policy messages, at 127\\.0\\.0\\.1:${stage.server.port}`,
      'is refused now with a cost of 1: ip, the limit is used up',
      `  blocked for  (?:1 m|5\\d\\.\\d s), until ${moment}`,
      '  rule         fixed-window, limit 100, window 1 h, anchor first-hit, maxDebt 100',
      '  remaining    0 of 100',
      `  retry in     (?:1 m|5\\d\\.\\d s) \\(\\d+ ms\\), at ${moment}`,
      '  key          sluice:messages~user:fixed-window@1:\\{42\\}',
      '  rule       token-bucket, capacity 3, refill 1, period 1 h, maxDebt 3',
      `  retry in   1 h 59 m \\(\\d+ ms\\), at ${moment}`,
      '  debt       2',
      '  reserved   1, refunded in (?:15 m|14 m 59 s) unless it is settled',
      '  key        sluice:messages~ip:token-bucket@1:\\{ip~::1\\}',
      '  rule       fixed-window, limit 2, .*; shadow',
      '             string, \\d+ bytes, expires in .*',
      '  state      atMs \\d{13}, count 2, windowMs 3600000',
    ]) {
      expect(out).toMatch(new RegExp(`^${line}$`, 'm'))
    }
    const passing = await said('inspect', 'other', '--policies', file, '--policy', 'messages', '--redis', url)
    expect(passing.out).toContain('other by the policy messages')
    expect(passing.out).toContain('\npasses now with a cost of 1\n')
    expect(passing.out).toContain('does not exist: nothing is counted')
    const never = await said(
      'inspect',
      'other',
      '--cost',
      '200',
      '--policies',
      file,
      '--policy',
      'messages',
      '--redis',
      url,
    )
    expect(never.out).toMatch(
      /is refused now with a cost of 200: \w+, the cost is greater than the limit, and never passes/,
    )
    expect(never.out).toMatch(/ {2}retry in {3}never$/m)
  })

  it('says how long a request would wait for its turn, and of one limit not its name', async () => {
    const text = 'policies:\n  mail: { rule: leaky-bucket, capacity: 5, leak: 1, period: 1h, mode: shape }\n'
    const file = await writePolicies(text)
    const limiter = stage.limiterNamed(text, 'mail')
    await limiter.consume('luis')
    const { out } = await said('inspect', 'luis', '--policies', file, '--policy', 'mail', '--redis', url)
    expect(out).toMatch(
      /^luis by the policy mail.*\npasses now with a cost of 1, after waiting (?:1 h|59 m 59 s) for its turn$/m,
    )
    await limiter.consume('luis', { cost: 4 })
    const full = await said('inspect', 'luis', '--policies', file, '--policy', 'mail', '--redis', url)
    expect(full.out).toContain('\nis refused now with a cost of 1: the limit is used up\n')
  })

  it('needs no file for a limiter of one rule: its name and its rule say the same', async () => {
    const limiter = stage.limiterNamed('policies: { alone: { rule: gcra, limit: 5, period: 1h } }', 'alone')
    await limiter.consume('user:42', { cost: 2 })
    const at = ['--name', 'alone', '--rule', 'gcra limit=5 period=1h', '--redis', url]
    expect(await inspected('user:42', ...at)).toMatchObject([
      {
        policy: 'alone',
        key: 'user:42',
        decision: { allowed: true, remaining: 3 },
        limits: [{ kind: 'token-bucket' }],
      },
    ])
    // One that has counted nothing is shown too: the limiter was named.
    expect(await inspected('other', ...at)).toMatchObject([{ policy: 'alone', decision: { remaining: 5 } }])
  })

  it('reports a log of many entries', async () => {
    const limit = openLimit(redisStore(stage.redis.client), {
      limiter: 'many',
      rule: slidingLog({ limit: 500, window: '1h' }),
    })
    const startMs = Date.now() - 400
    const takes = Array.from({ length: 400 }, (_, index) =>
      limit.decide('ann', { type: 'consume', amount: 1 }, startMs + index),
    )
    await Promise.all(takes)
    const at = ['--name', 'many', '--rule', 'sliding-log limit=500 window=1h', '--redis', url]
    const [{ decision, limits }] = await inspected('ann', ...at)
    expect(decision).toMatchObject({ allowed: true, remaining: 100 })
    const state = { atMs: startMs + 399, total: 400, spanMs: 3_600_000 }
    expect(limits[0].stored).toMatchObject({ type: 'string', debt: 0, state })
  })

  it('without a policy lists those that have counted the key', async () => {
    const file = await writePolicies(RULES)
    await stage.limiterNamed(RULES, 'bucket').consume('ann')
    await stage.limiterNamed(RULES, 'fixed').consume('ann')
    const found = await inspected('ann', '--policies', file, '--redis', url)
    expect(found.map(({ policy }: { policy: string }) => policy)).toEqual(['bucket', 'fixed'])
    const { out } = await said('inspect', 'user:9', '--policies', file, '--redis', url)
    expect(out).toBe('no policy has a count for user:9\n')
  })
})

describe('inspect elsewhere', () => {
  it('finds keys under another prefix, and by the environment', async () => {
    const file = await writePolicies(RULES)
    const terminal = recordingTerminal({ env: { SLUICE_REDIS_URL: url } })
    const args = ['inspect', 'x', '--policies', file, '--policy', 'fixed', '--prefix', 'shop:']
    expect(await run(args, terminal)).toBe(0)
    expect(terminal.text()).toContain('  key        shop:fixed:fixed-window@1:x\n')
  })

  describe('on a Cluster', () => {
    let cluster: SharedServers['cluster']
    beforeAll(async () => {
      cluster = await useCluster()
    })

    it('finds the keys of all tiers, wherever they lie', async () => {
      const at = `redis-cluster://127.0.0.1:${cluster.nodes[0]?.port}`
      const text = TIERS.replace('    hashTag: true\n', '')
      const connected = await connectRedis(at)
      onTestFinished(() => connected.close())
      const [policy] = readPolicies(text, '') as [Policy]
      const limiter = createPolicyLimiter(policy, { store: redisStore(connected.client) })
      onTestFinished(() => limiter.close())
      await limiter.consume({ user: '42', ip: '::1' })
      const file = await writePolicies(text)
      const [{ limits }] = await inspected('user=42, ip=::1', '--policies', file, '--policy', 'messages', '--redis', at)
      expect(limits.map(({ name, stored }: { name: string; stored: { type: string } }) => [name, stored.type])).toEqual(
        [
          ['user', 'string'],
          ['ip', 'string'],
        ],
      )
      const reset = await said('reset', 'user=42,ip=::1', '--policies', file, '--policy', 'messages', '--redis', at)
      expect(reset).toEqual({ code: 0, out: 'user=42,ip=::1 is reset for the policy messages\n', err: '' })
      expect((await limiter.peek({ user: '42', ip: '::1' })).remaining).toBe(3)
    })
  })
})

it('shows the units that processes have prefetched', async () => {
  const rule = slidingLog({ limit: 100, window: 3_600_000 })
  const { decide } = openLimit(redisStore(stage.redis.client), { limiter: 'lending', rule })
  const grant = { want: 11, soon: 0, soonMs: 1_000, endedId: 0, endedUsed: 0 }
  await decide('user:42', { type: 'grant', amount: 1, holdId: 7, holdMs: 60_000, grant }, STORE_TIME)
  const [seen] = await inspected(
    'user:42',
    ...['--name', 'lending', '--rule', 'sliding-log limit=100 window=1h', '--redis', url],
  )
  const { grants } = seen.limits[0].stored
  expect(grants).toMatchObject([{ amount: 10 }])
  expect(grants[0].endMs).toBeGreaterThan(seen.atMs)
  expect(seen.decision).toMatchObject({ allowed: true, remaining: 89 })
})
