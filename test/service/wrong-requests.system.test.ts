import { describe, expect, it } from 'vitest'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { type Stage, serving, TOKEN } from './service-stage.ts'

const KEYS: readonly [string, unknown][] = [
  ['api', 'a'],
  ['messages', 'a'],
  ['tokens', 'a'],
]

const stage = () => serving({ clock: manualClock(86_400_000) })

/** Whatever was wrong has changed nothing. */
const expectUntouched = async ({ remaining }: Stage) => {
  for (const [policy, key] of KEYS) {
    expect([policy, await remaining(policy, key)]).toEqual([policy, { api: 10, messages: 5, tokens: 1_000 }[policy]])
  }
}

describe('a wrong request gets a message with the mistake, and counts nothing:', () => {
  it.each<[string, string, unknown, number, string, string]>([
    [
      'no policy',
      '/v1/consume',
      { key: 'a' },
      400,
      'INVALID_ARGUMENT',
      'policy must be the name of a policy, got undefined',
    ],
    [
      'an unknown policy',
      '/v1/consume',
      { policy: 'apy', key: 'a' },
      404,
      'UNKNOWN_POLICY',
      'unknown policy "apy", did you mean "api"?',
    ],
    [
      'a policy of every object',
      '/v1/consume',
      { policy: 'constructor', key: 'a' },
      404,
      'UNKNOWN_POLICY',
      'unknown policy "constructor"; GET /v1/policies lists all',
    ],
    [
      'no key',
      '/v1/consume',
      { policy: 'api' },
      400,
      'INVALID_KEY',
      'key must be a non-empty string or { kind, name }, got undefined',
    ],
    [
      'an empty key',
      '/v1/consume',
      { policy: 'api', key: '' },
      400,
      'INVALID_KEY',
      'key must be a non-empty string or { kind, name }, got ""',
    ],
    [
      'a number as key',
      '/v1/consume',
      { policy: 'api', key: 42 },
      400,
      'INVALID_KEY',
      'key must be a non-empty string or { kind, name }, got 42',
    ],
    [
      'a list as key',
      '/v1/consume',
      { policy: 'messages', key: ['a'] },
      400,
      'INVALID_KEY',
      'unknown tier "0" in key; tiers are user, ip',
    ],
    [
      'an unknown tier',
      '/v1/consume',
      { policy: 'messages', key: { user: 'a', host: 'b' } },
      400,
      'INVALID_KEY',
      'unknown tier "host" in key; tiers are user, ip',
    ],
    [
      'a tier of every object',
      '/v1/consume',
      '{"policy":"messages","key":{"__proto__":"a"}}',
      400,
      'INVALID_KEY',
      'unknown tier "__proto__" in key; tiers are user, ip',
    ],
    [
      'a very long name',
      '/v1/consume',
      { policy: 'api', key: 'a'.repeat(4_097) },
      400,
      'INVALID_KEY',
      'the name of a key must have at most 4096 characters here, got 4097',
    ],
    [
      'a very long name of a kind',
      '/v1/reserve',
      { policy: 'api', key: { kind: 'a', name: 'a'.repeat(5_000) }, estimate: 1 },
      400,
      'INVALID_KEY',
      'the name of a key must have at most 4096 characters here, got 5000',
    ],
    [
      'a cost of nothing',
      '/v1/consume',
      { policy: 'api', key: 'a', cost: 0 },
      400,
      'INVALID_ARGUMENT',
      'cost must be a whole number of at least 1, got 0',
    ],
    [
      'a cost of less',
      '/v1/consume',
      { policy: 'api', key: 'a', cost: -1 },
      400,
      'INVALID_ARGUMENT',
      'cost must be a whole number of at least 1, got -1',
    ],
    [
      'half a cost',
      '/v1/consume',
      { policy: 'api', key: 'a', cost: 0.5 },
      400,
      'INVALID_ARGUMENT',
      'cost must be a whole number of at least 1, got 0.5',
    ],
    [
      'too great a cost',
      '/v1/consume',
      '{"policy":"api","key":"a","cost":1e400}',
      400,
      'INVALID_ARGUMENT',
      'cost must be a whole number from 1 to 9007199254740991, got Infinity',
    ],
    [
      'a cost in words',
      '/v1/consume',
      { policy: 'api', key: 'a', cost: '1' },
      400,
      'INVALID_ARGUMENT',
      'cost must be a whole number of at least 1, got "1"',
    ],
    [
      'no cost at all',
      '/v1/consume',
      { policy: 'api', key: 'a', cost: null },
      400,
      'INVALID_ARGUMENT',
      'cost must be a whole number of at least 1, got null',
    ],
    [
      'a cost of another tier',
      '/v1/consume',
      { policy: 'messages', key: 'a', cost: { usr: 1 } },
      400,
      'INVALID_ARGUMENT',
      'unknown tier "usr" in cost, did you mean "user"?',
    ],
    [
      'an option that does not exist',
      '/v1/consume',
      { policy: 'api', key: 'a', costs: 1 },
      400,
      'INVALID_ARGUMENT',
      'a request has no option "costs", did you mean "cost"?',
    ],
    [
      'an id that is no text',
      '/v1/consume',
      { policy: 'api', key: 'a', idempotencyKey: 7 },
      400,
      'INVALID_ARGUMENT',
      'idempotencyKey must be a string of 1 to 200 characters, got 7',
    ],
    [
      'an empty id',
      '/v1/consume',
      { policy: 'api', key: 'a', idempotencyKey: '' },
      400,
      'INVALID_ARGUMENT',
      'idempotencyKey must be a string of 1 to 200 characters, got ""',
    ],
    [
      'no amount',
      '/v1/charge',
      { policy: 'api', key: 'a', amount: 0 },
      400,
      'INVALID_ARGUMENT',
      'amount must be a whole number of at least 1, got 0',
    ],
    [
      'no length of a block',
      '/v1/block',
      { policy: 'api', key: 'a' },
      400,
      'INVALID_ARGUMENT',
      "blockFor must be a duration such as '250ms', '1m' or '1h30m' (units ms, s, m, h, d, w) or whole milliseconds, got undefined",
    ],
    [
      'a block that may replace another',
      '/v1/block',
      { policy: 'api', key: 'a', blockFor: 1, replace: 'yes' },
      400,
      'INVALID_ARGUMENT',
      'replace must be true or false, got "yes"',
    ],
    [
      'no estimate',
      '/v1/reserve',
      { policy: 'api', key: 'a' },
      400,
      'INVALID_ARGUMENT',
      'estimate must be a whole number of at least 1, got undefined',
    ],
    [
      'no hold',
      '/v1/settle',
      { used: 1 },
      400,
      'INVALID_ARGUMENT',
      'token must be one that reserve() returned, got undefined',
    ],
    [
      'an unknown hold',
      '/v1/settle',
      { reservation: 'abc', used: 1 },
      400,
      'INVALID_ARGUMENT',
      'token must be one that reserve() returned, got "abc"',
    ],
    [
      'a cancelled cost',
      '/v1/cancel',
      { reservation: 'abc', used: 1 },
      400,
      'INVALID_ARGUMENT',
      'a request has no option "used": it takes reservation',
    ],
  ])('%s', async (_, path, body, status, code, message) => {
    const own = await stage()
    expect(await own.post(path, body)).toMatchObject({ status, body: { error: { code, message } } })
    await expectUntouched(own)
  })

  it('a hold of a policy that is gone', async () => {
    const own = await stage()
    const hold = Buffer.from('["gone","a",1,1]').toString('base64url')
    expect(await own.post('/v1/settle', { reservation: hold, used: 1 })).toMatchObject({
      status: 404,
      body: { error: { code: 'UNKNOWN_POLICY' } },
    })
  })
})

describe('a batch with one bad request counts none of them:', () => {
  const good = { policy: 'api', key: 'a' }
  it.each<[string, unknown, number, string, string]>([
    [
      'a bad cost',
      [good, good, { ...good, cost: 0 }],
      400,
      'INVALID_ARGUMENT',
      'requests[2]: cost must be a whole number of at least 1, got 0',
    ],
    [
      'an unknown policy',
      [good, { policy: 'x', key: 'a' }],
      400,
      'UNKNOWN_POLICY',
      'requests[1]: unknown policy "x"; GET /v1/policies lists all',
    ],
    [
      'a bad key',
      [good, { policy: 'api', key: null }],
      400,
      'INVALID_KEY',
      'requests[1]: key must be a non-empty string or { kind, name }, got null',
    ],
    [
      'a bad id',
      [good, { ...good, idempotencyKey: [] }],
      400,
      'INVALID_ARGUMENT',
      'requests[1]: idempotencyKey must be a string of 1 to 200 characters, got an array',
    ],
    [
      'no object',
      [good, 'api'],
      400,
      'INVALID_ARGUMENT',
      'requests[1]: a request takes options such as { policy: … }, got "api"',
    ],
    ['none', [], 400, 'INVALID_ARGUMENT', 'requests must be a list of 1 to 1000 requests, got 0 of them'],
    [
      'too many',
      Array(1_001).fill(good),
      400,
      'INVALID_ARGUMENT',
      'requests must be a list of 1 to 1000 requests, got 1001 of them',
    ],
    ['no list', good, 400, 'INVALID_ARGUMENT', 'requests must be a list of 1 to 1000 requests, got an object'],
  ])('%s', async (_, requests, status, code, message) => {
    const own = await stage()
    expect(await own.post('/v1/consume', { requests })).toMatchObject({ status, body: { error: { code, message } } })
    await expectUntouched(own)
  })

  it('something besides the requests', async () => {
    const own = await stage()
    const { body } = await own.post('/v1/consume', { requests: [good], policy: 'api' })
    expect(body.error.message).toBe('a batch has no option "policy": it takes requests')
    await expectUntouched(own)
  })
})

const BRACKETS = `[${JSON.stringify(`"\\${'['.repeat(100)}\\"{`)}${',[]'.repeat(100)}${'['.repeat(18)}${']'.repeat(18)}`

/** The message for a text that is no JSON. The parser's part of it differs between versions of Node. */
function notJson(text: string): string {
  try {
    JSON.parse(text)
  } catch (error) {
    return `the body is not JSON: ${(error as Error).message}`
  }
  throw new Error('this is JSON')
}

describe('a body that is no JSON object', () => {
  it.each<[string, string | Uint8Array, string]>([
    ['nothing', '', notJson('')],
    ['a wrong sign', '{"policy":"api",\n"key":}', notJson('{"policy":"api",\n"key":}')],
    ['an end too early', '{"policy":"api"', notJson('{"policy":"api"')],
    ['bytes that are no text', new Uint8Array([0x7b, 0x22, 0xff, 0x22]), 'the body is not UTF-8'],
    ['half a character', new Uint8Array([0x22, 0xc3]), 'the body is not UTF-8'],
    ['a list', '[]', 'the body must be an object, got an array'],
    ['a number', '1', 'the body must be an object, got 1'],
    [
      'nesting without end',
      '['.repeat(500_000),
      'the values of a body must be nested at most 20 deep, and position 20 goes deeper',
    ],
    [
      'nesting of objects that ends',
      `${'{"a":'.repeat(21)}1${'}'.repeat(21)}`,
      'the values of a body must be nested at most 20 deep, and position 100 goes deeper',
    ],
    ['a text with brackets in it', BRACKETS, notJson(BRACKETS)],
  ])('gets the place of its mistake: %s', async (_, text, message) => {
    const own = await stage()
    expect(await own.post('/v1/consume', text)).toMatchObject({
      status: 400,
      body: { error: { code: 'INVALID_JSON', message } },
    })
    await expectUntouched(own)
  })

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/json; charset=latin1', 'application/jsonp'])(
    'is not even read when it is announced as %s',
    async (type) => {
      const own = await stage()
      const told = await own.post('/v1/consume', { policy: 'api', key: 'a' }, { 'content-type': type })
      expect(told).toMatchObject({ status: 415, body: { error: { code: 'UNSUPPORTED_CONTENT_TYPE' } } })
      await expectUntouched(own)
    },
  )

  it('is not read either without a content type', async () => {
    const { url } = await stage()
    const init = { method: 'POST', headers: { authorization: `Bearer ${TOKEN}` }, body: new Uint8Array([1]) }
    const response = await fetch(`${url}/v1/consume`, init)
    expect(response.status).toBe(415)
    expect(await response.text()).toContain('the content-type must be application/json in UTF-8, got \\"none\\"')
  })

  it('may be announced with its charset, and begin with a byte order mark', async () => {
    const { post } = await stage()
    const text = `\ufeff${JSON.stringify({ policy: 'api', key: 'a' })}`
    const { status } = await post('/v1/consume', text, { 'content-type': 'application/json; charset=UTF-8' })
    expect(status).toBe(200)
  })
})
