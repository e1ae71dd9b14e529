import { createHash, randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Address } from './servers/ask.ts'
import { useServer } from './servers/shared-servers.ts'
import { startServer } from './servers/start-server.ts'

// What the scripts rest on, and the mistakes that they avoid, each shown on a real server.
let server: Address
let redis: Redis

beforeAll(async () => {
  server = await useServer()
  redis = new Redis(server.port, server.host)
})
afterAll(async () => {
  redis?.disconnect()
})

const freshKey = () => `fact:${randomUUID()}`
const lua = (source: string, key = freshKey(), ...args: (string | number)[]) => redis.eval(source, 1, key, ...args)

describe('expiry', () => {
  it.each([
    ['EXPIRE', 0.5],
    ['EXPIRE', 1.5],
    ['PEXPIRE', 250.5],
  ])('%s refuses %d after the INCR has counted, and the key never expires', async (command, time) => {
    const key = freshKey()
    const count = lua(`redis.call('INCR', KEYS[1]) redis.call('${command}', KEYS[1], ${time})`, key)
    await expect(count).rejects.toThrow('ERR value is not an integer or out of range')
    expect([await redis.get(key), await redis.pttl(key)]).toEqual(['1', -1])
  })

  it.each([
    ['PERSIST', 1],
    // A refund that comes after the key has expired creates it; a cost of 3 then steps over the count of 1.
    ['DECR', 0],
  ])('EXPIRE only at count 1 never mends a key that %s left without TTL, PTTL < 0 does', async (loss, count) => {
    const hit = (isNew: string) => `
      local count = redis.call('INCRBY', KEYS[1], 3)
      if ${isNew} then redis.call('PEXPIRE', KEYS[1], 60000) end
      return redis.call('PTTL', KEYS[1])`
    const key = freshKey()
    if (count > 0) await redis.set(key, count, 'PX', 60_000)
    await redis.call(loss, key)
    expect(await lua(hit('count == 1'), key)).toBe(-1)
    expect(await lua(hit("redis.call('PTTL', KEYS[1]) < 0"), key)).toBeGreaterThan(0)
  })

  it('SET PX 0 is an error and writes nothing', async () => {
    const key = freshKey()
    await expect(redis.set(key, 1, 'PX', 0)).rejects.toThrow("ERR invalid expire time in 'set' command")
    expect(await redis.exists(key)).toBe(0)
  })

  it('PEXPIRE 0 deletes the key', async () => {
    const key = freshKey()
    await redis.set(key, 1)
    expect([await redis.pexpire(key, 0), await redis.exists(key)]).toEqual([1, 0])
  })
})

describe('numbers', () => {
  const nowUs = '1700000000123456'

  it('.. and tostring keep 14 digits', async () => {
    const texts = await lua("local n = tonumber(ARGV[1]) return { n .. '', tostring(n) }", freshKey(), nowUs)
    expect(texts).toEqual(['1.7000000001235e+15', '1.7000000001235e+15'])
  })

  it('string.format and arguments of redis.call keep every digit', async () => {
    const key = freshKey()
    const source = "local n = tonumber(ARGV[1]) redis.call('SET', KEYS[1], n) return string.format('%.0f', n)"
    expect([await lua(source, key, nowUs), await redis.get(key)]).toEqual([nowUs, nowUs])
  })

  it('a reply of redis.call is a double: a count above 2^53 is wrong', async () => {
    const key = freshKey()
    await redis.set(key, '9007199254740993')
    expect(await lua("return string.format('%.0f', redis.call('INCRBY', KEYS[1], 0))", key)).toBe('9007199254740992')
  })

  it('a reply cuts fractions off toward zero', async () => {
    expect(await lua('return { 1.9, -1.9, 0.999 }')).toEqual([1, -1, 0])
  })

  it('a reply turns NaN and infinity into whole numbers', async () => {
    // Which ones depends on the processor: -2^63 for all three on x86.
    const whole = expect.toSatisfy(Number.isInteger)
    expect(await lua('return { 0/0, 1/0, -1/0 }')).toEqual([whole, whole, whole])
  })

  it('nil ends a reply, false is a hole in it, true is 1', async () => {
    expect(await lua('return { 1, nil, 3 }')).toEqual([1])
    expect(await lua('return { 1, false, true }')).toEqual([1, null, 1])
  })

  it.each([
    ['nan', /^-?nan$/],
    ['inf', /^inf$/],
    ['0x10', /^16$/],
    ['1e3', /^1000$/],
    [' 5 ', /^5$/],
  ])('tonumber accepts %j', async (text, number) => {
    expect(await lua("return string.format('%.0f', tonumber(ARGV[1]))", freshKey(), text)).toMatch(number)
  })

  it('an argument is text and equals no number', async () => {
    const equal = await lua('return { ARGV[1] == 1, tonumber(ARGV[1]) == 1 }', freshKey(), 1)
    expect(equal).toEqual([null, 1])
  })
})

describe('an unchecked cost', () => {
  const take = `
    local tokens = tonumber(redis.call('GET', KEYS[1]) or 5)
    local cost = tonumber(ARGV[1])
    if cost > tokens then return 'refused' end
    redis.call('SET', KEYS[1], tokens - cost)
    return redis.call('GET', KEYS[1])`

  it.each([
    ['is refused when it is too high', '6', /^refused$/],
    ['mints when it is negative: 105 tokens of 5', '-100', /^105$/],
    ['passes when it is NaN and leaves NaN behind', 'nan', /^-?nan$/],
  ])('%s', async (_, cost, left) => {
    expect(await lua(take, freshKey(), cost)).toMatch(left)
  })

  it('is NaN exactly when it does not equal itself', async () => {
    const passes = 'local cost = tonumber(ARGV[1]) return { 9 + cost > 10 and 0 or 1, cost == cost and 1 or 0 }'
    expect(await lua(passes, freshKey(), 'nan')).toEqual([1, 0])
    expect(await lua(passes, freshKey(), '1')).toEqual([1, 1])
    expect(await lua(passes, freshKey(), '2')).toEqual([0, 1])
  })
})

describe('a leak of 1 per second from a bucket of 1, asked every 100 ms for 5 s', () => {
  // A level in thousandths: every millisecond leaks exactly one of them.
  const pour = (leak: string) => `
    local state, now = redis.call('HMGET', KEYS[1], 'level', 'at'), tonumber(ARGV[1])
    local level = math.max(0, (state[1] or 0) - ${leak.replace('ms', '(now - (state[2] or now))')})
    local allowed = level == 0
    redis.call('HSET', KEYS[1], 'level', allowed and 1000 or level, 'at', now)
    return allowed and 1 or 0`

  it.each([
    ['starves when the leak is floored while the clock advances', '1000 * math.floor(ms / 1000)', 1],
    ['lets 6 pass when the fraction survives', 'ms', 6],
  ])('%s', async (_, leak, passed) => {
    const key = freshKey()
    let allowed = 0
    for (let nowMs = 0; nowMs <= 5_000; nowMs += 100) allowed += Number(await lua(pour(leak), key, nowMs))
    expect(allowed).toBe(passed)
  })
})

describe('scripts', () => {
  it('math.random starts over with the server, so that members made of it overwrite each other', async () => {
    const [before, after] = [await firstRandoms(), await firstRandoms()]
    expect(new Set(before).size).toBe(10)
    expect(after).toEqual(before)
    const key = freshKey()
    for (const [score, member] of [...before, ...after].entries()) await redis.zadd(key, score, member)
    expect(await redis.zcard(key)).toBe(10)
  })

  it('EVALSHA after SCRIPT FLUSH is NOSCRIPT, and works again after SCRIPT LOAD', async () => {
    const source = "return redis.call('INCR', KEYS[1])"
    const key = freshKey()
    const sha1 = String(await redis.script('LOAD', source))
    expect(sha1).toBe(createHash('sha1').update(source).digest('hex'))
    expect(await redis.evalsha(sha1, 1, key)).toBe(1)
    await redis.script('FLUSH')
    await expect(redis.evalsha(sha1, 1, key)).rejects.toThrow(/^NOSCRIPT /)
    await redis.script('LOAD', source)
    expect(await redis.evalsha(sha1, 1, key)).toBe(2)
  })

  it('TIME may be read before a write', async () => {
    const key = freshKey()
    const seconds = await lua("local time = redis.call('TIME') redis.call('SET', KEYS[1], time[1]) return time[1]", key)
    expect(seconds).toMatch(/^\d{10}$/)
    expect(await redis.get(key)).toBe(seconds)
  })
})

/** What the first ten requests after a start get. */
async function firstRandoms(): Promise<string[]> {
  const started = await startServer()
  const client = new Redis(started.port, started.host)
  try {
    const source = "return string.format('%.17g', math.random())"
    return await Promise.all(Array.from({ length: 10 }, async () => String(await client.eval(source, 0))))
  } finally {
    client.disconnect()
    await started.stop()
  }
}
