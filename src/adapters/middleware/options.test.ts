import { describe, expect, it } from 'vitest'
import { anything } from '../../core/read-options.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import { fixedWindow } from '../../rules/index.ts'
import { byApiKey, byIp, byUser, byUserOrIp } from './keys.ts'
import { createMiddleware } from './middleware.ts'
import type { RequestAccessor } from './request-accessor.ts'

const limiter = createLimiter({ name: 'api', rule: fixedWindow({ limit: 1, window: 1_000 }) })
const accessor: RequestAccessor<object> = {
  method: () => 'GET',
  header: () => undefined,
  clientAddress: () => '203.0.113.7',
}

describe('options of middleware', () => {
  const picks = 'a limiter made by createLimiter(), or a function of the request that picks one'
  const finds = 'a function of the request such as byIp(), or one for each tier by its name'
  const choices = "'refuse', 'skip' or { shared: 'a name' }"

  it.each<[object, string]>([
    [{ limiter: undefined }, `limiter must be ${picks}, got undefined`],
    [{ limiter: { limit: 5 } }, `limiter must be ${picks}, got an object`],
    [{ limiter: null }, `limiter must be ${picks}, got null`],
    [{ key: 'ip' }, `key must be ${finds}, got "ip"`],
    [{ key: {} }, `key must be ${finds}, got an object`],
    [{ key: [byIp()] }, `key must be ${finds}, got an array`],
    [{ key: { user: 'id' } }, 'key.user must be a function of the request, got "id"'],
    [{ onMissingKey: 'ignore' }, `onMissingKey must be ${choices}, got "ignore"`],
    [{ onMissingKey: null }, `onMissingKey must be ${choices}, got null`],
    [{ onMissingKey: { shared: '' } }, `onMissingKey must be ${choices}, got an object`],
    [{ skip: true }, 'skip must be a function, got true'],
    [{ idempotencyKey: 'x' }, 'idempotencyKey must be a function, got "x"'],
    [{ onWarning: 1 }, 'onWarning must be a function, got 1'],
    [{ exposeHeaders: 'yes' }, 'exposeHeaders must be true or false, got "yes"'],
    [{ countPreflight: 0 }, 'countPreflight must be true or false, got 0'],
    [{ count: 'all' }, "count must be 'failed', 'successful', false or a function of the status, got \"all\""],
    [{ count: true }, "count must be 'failed', 'successful', false or a function of the status, got true"],
    [{ expiresIn: 0 }, 'expiresIn must be from 1 ms to 10 years (3653d), got 0'],
    [
      { idempotencyKey: () => 'x', count: 'failed' },
      'idempotencyKey cannot be combined with count: a reservation has its own id',
    ],
    [
      { headers: 'draft-8' },
      "headers must be 'draft-11', 'draft-7', 'draft-6', 'legacy', false or an array of these, got \"draft-8\"",
    ],
    [
      { headers: true },
      "headers must be 'draft-11', 'draft-7', 'draft-6', 'legacy', false or an array of these, got true",
    ],
    [
      { headers: ['draft-6', 'draft-9'] },
      "headers[1] must be 'draft-11', 'draft-7', 'draft-6' or 'legacy', got \"draft-9\"",
    ],
    [
      { headers: ['draft-11', 'draft-7'] },
      'headers must be at most one of the drafts and \'legacy\', got ["draft-11", "draft-7"]',
    ],
    [
      { headers: ['legacy', 'legacy'] },
      'headers must be at most one of the drafts and \'legacy\', got ["legacy", "legacy"]',
    ],
    [{ count: false, idempotencyKey: () => 'x' }, 'idempotencyKey cannot be combined with count: nothing is counted'],
    [{ unit: 5 }, 'unit must be a string, or one for each tier by its name, got 5'],
    [{ unit: { user: null } }, 'unit must be a string, or one for each tier by its name, got null'],
    [{ partitionSecret: 'short' }, 'partitionSecret must be a string of at least 16 characters'],
    [{ cost: 0 }, 'cost must be a whole number of at least 1, got 0'],
    [{ cost: '5' }, 'cost must be a whole number of at least 1, got "5"'],
    [{ cost: { user: 1, ip: 0.5 } }, 'cost.ip must be a whole number of at least 1, got 0.5'],
    [
      { windowMs: 5 },
      'rateLimit() has no option "windowMs": the rule has it, such as slidingWindow({ limit: 100, window: \'1m\' })',
    ],
    [
      { message: 'slow down' },
      'rateLimit() has no option "message": it takes limiter, key, onMissingKey, cost, count, skip, expiresIn, idempotencyKey, headers, unit, partitionSecret, exposeHeaders, countPreflight, onRefused, onWarning, hook',
    ],
  ])('%o', (options, message) => {
    const make = () => createMiddleware('rateLimit()', { limiter, ...options } as never, accessor, { hook: anything })
    expect(make).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', message }))
  })

  it('says so when it gets the limiter alone', () => {
    const message = 'rateLimit() takes options such as { limiter: … }, got a limiter'
    expect(() => createMiddleware('rateLimit()', limiter as never, accessor)).toThrow(message)
  })

  it('says so when a function picks something else than a limiter', async () => {
    const middleware = createMiddleware('rateLimit()', { limiter: () => ({ name: 'x' }) as never }, accessor)
    await expect(middleware({})).rejects.toThrow(`limiter must be ${picks}, got an object`)
  })

  it('wants functions where it asks for functions', () => {
    expect(() => byUser('id' as never)).toThrow('the argument of byUser() must be a function of the request, got "id"')
    expect(() => byUserOrIp(undefined as never)).toThrow(
      'the argument of byUser() must be a function of the request, got undefined',
    )
    expect(() => byApiKey(5 as never)).toThrow('the argument of byApiKey() must be a function of the request, got 5')
    expect(() => byIp({ ipv6Prefix: 8 })).toThrow('ipv6Prefix must be a whole number from 32 to 128, got 8')
  })
})

describe('keys', () => {
  const header = (headers: Record<string, string>): RequestAccessor<object> => ({
    ...accessor,
    header: (_, name) => headers[name],
  })

  it('finds users of every kind of id, at once or later, and none where there is none', async () => {
    expect(byUser(() => 42)({}, accessor)).toEqual({ kind: 'user', name: '42' })
    expect(byUser(() => 42n)({}, accessor)).toEqual({ kind: 'user', name: '42' })
    expect(byUser(() => 0)({}, accessor)).toEqual({ kind: 'user', name: '0' })
    expect(await byUser(async () => 'ann')({}, accessor)).toEqual({ kind: 'user', name: 'ann' })
    for (const none of [undefined, null, '']) expect(byUser(() => none)({}, accessor)).toBeUndefined()
    expect(byUser((_, own) => own.header({}, 'x-user'))({}, header({ 'x-user': 'ann' }))).toEqual({
      kind: 'user',
      name: 'ann',
    })
  })

  it('finds the address where there is no user', async () => {
    const ip = { kind: 'ip', name: '203.0.113.7' }
    expect(byUserOrIp(() => undefined)({}, accessor)).toEqual(ip)
    expect(await byUserOrIp(async () => null)({}, accessor)).toEqual(ip)
    expect(await byUserOrIp(async () => 'ann')({}, accessor)).toEqual({ kind: 'user', name: 'ann' })
    expect(byIp()({}, { ...accessor, clientAddress: () => undefined })).toBeUndefined()
    expect(byIp()({}, { ...accessor, clientAddress: () => 'unix:' })).toBeUndefined()
  })

  it('knows every address, however many there are', () => {
    const find = byIp()
    const key = (index: number) =>
      find({}, { ...accessor, clientAddress: () => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}` })
    for (let index = 0; index < 2_500; index++)
      expect(key(index)).toMatchObject({ name: expect.stringMatching(/^10\.0/) })
    expect(key(300)).toEqual({ kind: 'ip', name: '10.0.1.44' })
    expect(key(300)).toEqual({ kind: 'ip', name: '10.0.1.44' })
  })

  it('finds secrets, and keeps their SHA-256', () => {
    const hashed = { kind: 'api-key', name: 'ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0' }
    expect(byApiKey()({}, header({ 'x-api-key': 'abc' }))).toEqual(hashed)
    expect(byApiKey('X-Token')({}, header({ 'x-token': 'abc' }))).toEqual(hashed)
    expect(byApiKey(() => 'abc')({}, accessor)).toEqual(hashed)
    expect(byApiKey()({}, accessor)).toBeUndefined()
    expect(byApiKey(() => null)({}, accessor)).toBeUndefined()
    expect(byApiKey(() => '')({}, accessor)).toBeUndefined()
  })
})
