import { describe, expect, it } from 'vitest'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { waitUntil } from '../servers/wait-until.ts'
import { ask } from './ask.ts'
import { rawConnection } from './raw-connection.ts'
import { type Stage, serving, TOKEN } from './service-stage.ts'

const stage = (options: Parameters<typeof serving>[0] = {}) => serving({ clock: manualClock(86_400_000), ...options })

/** Asks as a proxy does: with the token, and the key in a header. */
const check = (
  { port }: Stage,
  path: string,
  headers: Record<string, string | string[]> = { 'x-sluice-key': 'a' },
  method = 'GET',
) => {
  return ask({ port }, `/v1/check/${path}`, { method, headers: { authorization: `Bearer ${TOKEN}`, ...headers } })
}

const use = ({ post }: Stage, policy: string, key: unknown, cost: number) => post('/v1/consume', { policy, key, cost })

describe('a check', () => {
  it('answers 200 with the headers of the limit and nothing else, and counts', async () => {
    const own = await stage()
    const { status, headers, body } = await check(own, 'api')
    const { date: _, ...others } = headers
    expect([status, others, body]).toEqual([
      200,
      {
        'cache-control': 'no-store',
        'content-length': '0',
        connection: 'close',
        'ratelimit-policy': '"api";q=10;w=60',
        ratelimit: '"api";r=9;t=60',
      },
      '',
    ])
    expect(await own.remaining('api', 'a')).toBe(9)
  })

  it('answers a refusal with 429, when to come again, and the problem', async () => {
    const own = await stage()
    await use(own, 'api', 'a', 10)
    const { status, headers, body } = await check(own, 'api')
    expect([status, headers]).toMatchObject([
      429,
      {
        'content-type': 'application/problem+json',
        'retry-after': '60',
        'ratelimit-policy': '"api";q=10;w=60',
        ratelimit: '"api";r=0;t=60',
      },
    ])
    expect(JSON.parse(body)).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Too Many Requests',
      status: 429,
      detail: 'The quota is used up. Try again in 60 s.',
      'violated-policies': ['api'],
    })
  })

  it('answers a refusal with 403 where it is asked to, and an admission with 200', async () => {
    const own = await stage()
    expect((await check(own, 'api?refuse=403')).status).toBe(200)
    await use(own, 'api', 'a', 9)
    const { status, headers, body } = await check(own, 'api?refuse=403')
    expect([status, headers['retry-after'], headers.ratelimit]).toEqual([403, '60', '"api";r=0;t=60'])
    expect(JSON.parse(body)).toMatchObject({ title: 'Too Many Requests', status: 403 })
  })

  it('answers a cost that never passes with 413, and with no time to come again', async () => {
    const { status, headers } = await check(await stage(), 'api?cost=11')
    expect([status, headers['retry-after'], headers.ratelimit]).toEqual([413, undefined, '"api";r=10'])
  })

  it.each<[string, string, Record<string, string>]>([
    ['the query', 'api?cost=4', {}],
    ['a header', 'api', { 'X-Sluice-Cost': '4' }],
    ['the query, beside an empty header', 'api?cost=4', { 'x-sluice-cost': '' }],
  ])('takes the cost of %s', async (_, path, headers) => {
    const own = await stage()
    expect((await check(own, path, { 'x-sluice-key': 'a', ...headers })).headers.ratelimit).toBe('"api";r=6;t=60')
  })

  it.each(['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'PROPFIND'])('is the same by %s', async (method) => {
    const own = await stage()
    expect((await check(own, 'api', { 'x-sluice-key': 'a' }, method)).status).toBe(200)
    expect(await own.remaining('api', 'a')).toBe(9)
  })

  it('has no body by HEAD', async () => {
    const own = await stage()
    await use(own, 'api', 'a', 10)
    const { status, headers, body } = await check(own, 'api', { 'x-sluice-key': 'a' }, 'HEAD')
    expect([status, Number(headers['content-length']) > 0, body]).toEqual([429, true, ''])
  })

  it('leaves a body unread, whatever it is, and the connection goes on after a short one', async () => {
    const { socket, said, ended } = await rawConnection(await stage())
    const head = `POST /v1/check/api HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\nX-Sluice-Key: a\r\n`
    socket.write(`${head}Content-Type: text/plain\r\nContent-Length: 7\r\n\r\nno JSON`)
    socket.write(`${head}Connection: close\r\n\r\n`)
    await ended
    expect(said().match(/HTTP\/1.1 200 OK/g)).toHaveLength(2)
    expect(said()).toContain('RateLimit: "api";r=8;t=60')
  })

  it('is answered once, as the last on its connection, when what follows is no request', async () => {
    const { socket, said, ended } = await rawConnection(await stage())
    const head = `GET /v1/check/api HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\nX-Sluice-Key: a\r\n\r\n`
    socket.write(`${head}no request\r\n\r\n`)
    await ended
    expect(said().match(/HTTP\/1.1 .*/g)).toEqual(['HTTP/1.1 200 OK'])
    expect(said()).toContain('connection: close')
  })

  it('is answered while the service ends, as the last on its connection', async () => {
    const own = await stage()
    const { socket, said, ended } = await rawConnection(own)
    const request = `GET /v1/check/api HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\nX-Sluice-Key: a\r\n\r\n`
    socket.write(request)
    await waitUntil(async () => (said().includes('\r\n\r\n') ? undefined : 'no answer'))
    expect(said()).not.toContain('close')
    const closed = own.service.close(60_000)
    socket.write(request)
    await Promise.all([ended, closed])
    expect(said().match(/HTTP\/1.1 200 OK/g)).toHaveLength(2)
    expect(said()).toContain('connection: close')
  })

  it('reads nothing after a slash behind the policy, where Envoy puts the URL of its client', async () => {
    const own = await stage()
    expect((await check(own, 'api/?cost=5&key=b&idempotencyKey=user-agent')).headers.ratelimit).toBe('"api";r=9;t=60')
    expect((await check(own, 'api/orders/7?cost=5&page=2')).headers.ratelimit).toBe('"api";r=8;t=60')
  })

  it('finds a policy whose name is encoded', async () => {
    const own = await stage({ yaml: 'policies: { "a/b ü": { rule: fixed-window, limit: 5, window: 1m } }' })
    expect((await check(own, 'a%2Fb%20%C3%BC')).headers.ratelimit).toBe('"a%2Fb%20%C3%BC";r=4;t=60')
  })

  it('waits for the turn of a request in a shaped queue', async () => {
    const yaml =
      'policies: { slow: { rule: leaky-bucket, capacity: 2, leak: 1, period: 50ms, mode: shape, maxWait: 1s } }'
    const own = await serving({ yaml })
    const startedMs = performance.now()
    const [first, second] = [await check(own, 'slow'), await check(own, 'slow')]
    expect([first.status, second.status]).toEqual([200, 200])
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(49)
  })

  it('counts one idempotency key once, from the header that the query names', async () => {
    const own = await stage()
    const headers = { 'x-sluice-key': 'a', 'x-request-id': 'b7d0c1' }
    for (const _ of [1, 2, 3]) expect((await check(own, 'api?idempotencyKey=X-Request-Id', headers)).status).toBe(200)
    expect(await own.remaining('api', 'a')).toBe(9)
    await check(own, 'api?idempotencyKey=X-Request-Id', { 'x-sluice-key': 'a', 'x-request-id': 'other' })
    await check(own, 'api?idempotencyKey=X-Request-Id')
    expect(await own.remaining('api', 'a')).toBe(7)
  })

  it('takes no idempotency key from a header that the query does not name: a client could repeat its own', async () => {
    const own = await stage()
    const headers = { 'x-sluice-key': 'a', 'idempotency-key': 'b7d0c1', 'x-request-id': 'b7d0c1' }
    for (const _ of [1, 2, 3]) await check(own, 'api', headers)
    expect(await own.remaining('api', 'a')).toBe(7)
  })

  it('is counted among the answers of the service by its route, whatever the policy is called', async () => {
    const own = await stage()
    await check(own, 'api')
    await check(own, 'made-up')
    const { body } = await own.get('/metrics')
    expect(body).toContain('sluice_http_requests_total{route="/v1/check/",status="200"} 1')
    expect(body).toContain('sluice_http_requests_total{route="/v1/check/",status="404"} 1')
    expect(body).not.toContain('made-up')
  })
})

describe('the key of a check', () => {
  it.each<[string, string, Record<string, string>, unknown]>([
    ['a header', 'api', { 'x-sluice-key': 'user:42' }, 'user:42'],
    ['the query', 'api?key=user:42', {}, 'user:42'],
    ['the query, encoded', 'api?key=a%26b%3D%C3%BC%2b+', {}, 'a&b=ü++'],
    ['a header of UTF-8', 'api', { 'x-sluice-key': Buffer.from('ü').toString('latin1') }, 'ü'],
    ['a header with an address', 'api', { 'x-sluice-key': 'ip:203.0.113.7' }, { kind: 'ip', name: '203.0.113.7' }],
    ['an address in the query', 'api?key=ip:203.0.113.7', {}, { kind: 'ip', name: '203.0.113.7' }],
    ['IPv4 written as IPv6', 'api', { 'x-sluice-key': 'ip:::ffff:203.0.113.7' }, { kind: 'ip', name: '203.0.113.7' }],
    ['an address of a /64', 'api', { 'x-sluice-key': 'ip:2001:db8::1' }, { kind: 'ip', name: '2001:db8::/64' }],
    ['another of the /64', 'api', { 'x-sluice-key': 'ip:2001:db8::2:3' }, { kind: 'ip', name: '2001:db8::/64' }],
    [
      'the header that ?ip= names',
      'api?ip=X-Forwarded-For',
      { 'x-forwarded-for': '203.0.113.7' },
      { kind: 'ip', name: '203.0.113.7' },
    ],
    ['__proto__', 'api', { 'x-sluice-key': '__proto__' }, '__proto__'],
  ])('may be %s', async (_, path, headers, key) => {
    const own = await stage()
    expect((await check(own, path, headers)).status).toBe(200)
    expect(await own.remaining('api', key)).toBe(9)
  })

  it.each<[string, string, Record<string, string>]>([
    ['headers', 'messages', { 'X-Sluice-Key-User': '42', 'x-sluice-key-ip': 'ip:203.0.113.7' }],
    ['the query', 'messages?key.user=42&key.ip=ip:203.0.113.7', {}],
    ['the query and the header that it names', 'messages?key.user=42&ip.ip=x-real-ip', { 'x-real-ip': '203.0.113.7' }],
    ['a header and the query', 'messages?key.ip=ip:203.0.113.7', { 'x-sluice-key-user': '42' }],
  ])('has a part for each tier, in %s', async (_, path, headers) => {
    const own = await stage()
    expect((await check(own, path, headers)).headers).toMatchObject({
      'ratelimit-policy': '"user";q=5;w=60, "ip";q=20;w=20',
      ratelimit: '"user";r=4;t=60, "ip";r=19;t=19',
    })
    expect(await own.remaining('messages', { user: '42' })).toBe(4)
    expect(await own.remaining('messages', { ip: { kind: 'ip', name: '203.0.113.7' } })).toBe(19)
  })

  it('leaves out a tier whose header is empty, as of a request without a user', async () => {
    const own = await stage()
    const { headers } = await check(own, 'messages', { 'x-sluice-key-user': '', 'x-sluice-key-ip': 'ip:203.0.113.7' })
    expect(headers.ratelimit).toBe('"ip";r=19;t=19')
  })

  it('is meant for all tiers when it names none', async () => {
    expect((await check(await stage(), 'messages')).headers.ratelimit).toBe('"user";r=4;t=60, "ip";r=19;t=19')
  })

  it('finds a tier by its name in any case, as headers have none', async () => {
    const yaml = 'policies: { a: { tiers: { Org: { rule: fixed-window, limit: 5, window: 1m } } } }'
    const own = await stage({ yaml })
    expect((await check(own, 'a', { 'x-sluice-key-org': 'x' })).headers.ratelimit).toBe('"Org";r=4;t=60')
  })

  it('names the tier that refused, and takes from none', async () => {
    const own = await stage()
    await use(own, 'messages', { user: '42' }, 5)
    const { status, body } = await check(own, 'messages', { 'x-sluice-key-user': '42', 'x-sluice-key-ip': 'b' })
    expect([status, JSON.parse(body)['violated-policies']]).toEqual([429, ['user']])
    expect(await own.remaining('messages', { ip: 'b' })).toBe(20)
  })

  it('says nothing of limits in shadow mode', async () => {
    const yaml = `
policies:
  quiet: { rule: fixed-window, limit: 1, window: 1m, shadow: true }
  half:
    tiers:
      user: { rule: fixed-window, limit: 5, window: 1m }
      all: { rule: fixed-window, limit: 1, window: 1m, shadow: true }
`
    const own = await stage({ yaml })
    for (const _ of [1, 2]) {
      const { status, headers } = await check(own, 'quiet')
      expect([status, headers.ratelimit, headers['ratelimit-policy']]).toEqual([200, undefined, undefined])
    }
    expect((await check(own, 'half')).headers.ratelimit).toBe('"user";r=4;t=60')
  })
})

describe('a wrong check gets a problem that names the mistake, and counts nothing:', () => {
  const sent = { 'x-sluice-key': 'a' }
  const once = 'a request has one key, which the proxy must set in the place of any that came with it, got'
  it.each<[string, string, Record<string, string | string[]>, number, string, string]>([
    ['no key', 'api', {}, 400, 'INVALID_KEY', 'the request has no key: send it in the header X-Sluice-Key or as ?key='],
    [
      'an empty key',
      'api?key=',
      { 'x-sluice-key': '' },
      400,
      'INVALID_KEY',
      'the request has no key: send it in the header X-Sluice-Key or as ?key=',
    ],
    [
      'no key of any tier',
      'messages',
      {},
      400,
      'INVALID_KEY',
      'the request has no key: send one for a tier at least, in the header X-Sluice-Key-<tier> or as ?key.<tier>=, of user, ip',
    ],
    [
      'no address where ?ip= looks',
      'api?ip=x-forwarded-for',
      {},
      400,
      'INVALID_KEY',
      'the request has no key: send it in the header X-Sluice-Key or as ?key=',
    ],
    [
      'no address where ?ip= looks, by a name of every object',
      'api?ip=constructor',
      {},
      400,
      'INVALID_KEY',
      'the request has no key: send it in the header X-Sluice-Key or as ?key=',
    ],
    ['an unknown policy', 'apy', sent, 404, 'UNKNOWN_POLICY', 'unknown policy "apy", did you mean "api"?'],
    ['no policy', '', sent, 404, 'UNKNOWN_POLICY', 'unknown policy ""; GET /v1/policies lists all'],
    [
      'an unknown tier',
      'messages',
      { 'X-Sluice-Key-Usr': 'a' },
      400,
      'INVALID_KEY',
      'the header X-Sluice-Key-Usr names the tier "usr", which is not among user, ip',
    ],
    [
      'an unknown tier in the query',
      'messages?key.usr=a',
      {},
      400,
      'INVALID_KEY',
      'the parameter key.usr names the tier "usr", which is not among user, ip',
    ],
    [
      'a tier of a policy of one rule',
      'api',
      { 'x-sluice-key-user': 'a' },
      400,
      'INVALID_KEY',
      'the header x-sluice-key-user names the tier "user", and the policy "api" has no tiers',
    ],
    [
      'a cost of nothing',
      'api?cost=0',
      sent,
      400,
      'INVALID_ARGUMENT',
      'cost must be a whole number of at least 1, got 0',
    ],
    [
      'a cost in words',
      'api?cost=1e3',
      sent,
      400,
      'INVALID_ARGUMENT',
      'cost must be a whole number of at least 1, got "1e3"',
    ],
    [
      'a cost of the client beside the cost of the proxy',
      'api',
      { ...sent, 'x-sluice-cost': ['1', '2'] },
      400,
      'INVALID_ARGUMENT',
      'cost must be a whole number of at least 1, got "1, 2"',
    ],
    [
      'a cost in the query beside that in the header',
      'api?cost=2',
      { ...sent, 'x-sluice-cost': '1' },
      400,
      'INVALID_ARGUMENT',
      'a request has one cost, which the proxy must set in the place of any that came with it, got the header X-Sluice-Cost and the parameter cost',
    ],
    ['an empty cost', 'api?cost', sent, 400, 'INVALID_ARGUMENT', 'cost must be a whole number of at least 1, got ""'],
    [
      'a status that is none',
      'api?refuse=200',
      sent,
      400,
      'INVALID_ARGUMENT',
      'refuse must be 403, or be left out for 429, got "200"',
    ],
    [
      'a parameter that does not exist',
      'api?keys=a',
      sent,
      400,
      'INVALID_ARGUMENT',
      'a check has no parameter "keys": it takes key, ip, cost, idempotencyKey, refuse, and key.<tier>, ip.<tier>',
    ],
    [
      'a parameter that comes twice',
      'api?key=a&key=b',
      {},
      400,
      'INVALID_REQUEST',
      'the query must have the parameter "key" once, got it twice',
    ],
    [
      'bytes in the query that are no text',
      'api?key=%FF',
      {},
      400,
      'INVALID_REQUEST',
      'a URL must be percent-encoded UTF-8, got "%FF"',
    ],
    [
      'bytes in the name of the policy that are no text',
      '%FF',
      sent,
      400,
      'INVALID_REQUEST',
      'a URL must be percent-encoded UTF-8, got "%FF"',
    ],
    [
      'bytes in a header that are no text',
      'api',
      { 'x-sluice-key': '\xfc' },
      400,
      'INVALID_KEY',
      'the header x-sluice-key must be UTF-8, got "ü"',
    ],
    [
      'a key of the client beside the key of the proxy',
      'api',
      { 'x-sluice-key': ['a', 'b'] },
      400,
      'INVALID_KEY',
      `${once} the header x-sluice-key and the header x-sluice-key`,
    ],
    [
      'a key in the query beside that in the header',
      'api?key=b',
      sent,
      400,
      'INVALID_KEY',
      `${once} the header x-sluice-key and the parameter key`,
    ],
    [
      'a key for all tiers beside that of one',
      'messages?key.user=b',
      sent,
      400,
      'INVALID_KEY',
      `${once} the header x-sluice-key and the parameter key.user`,
    ],
    [
      'a key of one tier beside that for all',
      'messages?key=b',
      { 'x-sluice-key-user': 'a' },
      400,
      'INVALID_KEY',
      `${once} the header x-sluice-key-user and the parameter key`,
    ],
    [
      'two keys of one tier',
      'messages?key.user=b&key.ip=c',
      { 'x-sluice-key-user': 'a' },
      400,
      'INVALID_KEY',
      `${once} the header x-sluice-key-user and the parameter key.user`,
    ],
    [
      'an address that is none',
      'api',
      { 'x-sluice-key': 'ip:unix:' },
      400,
      'INVALID_KEY',
      'the header x-sluice-key must name one IP address, got "unix:"',
    ],
    [
      'several addresses where ?ip= looks',
      'api?ip=X-Forwarded-For',
      { 'x-forwarded-for': ['198.51.100.1', '203.0.113.7'] },
      400,
      'INVALID_KEY',
      'the header X-Forwarded-For must name one IP address, got "198.51.100.1, 203.0.113.7"',
    ],
    [
      'a very long key',
      `api?key=${'a'.repeat(4_097)}`,
      {},
      400,
      'INVALID_KEY',
      'the name of a key must have at most 4096 characters here, got 4097',
    ],
    [
      'a very long idempotency key',
      'api?idempotencyKey=x-request-id',
      { ...sent, 'x-request-id': 'a'.repeat(201) },
      400,
      'INVALID_ARGUMENT',
      `idempotencyKey must be a string of 1 to 200 characters, got "${'a'.repeat(60)}…"`,
    ],
    [
      'no token',
      'api',
      { ...sent, authorization: '' },
      401,
      'UNAUTHORIZED',
      'this request needs the header "Authorization: Bearer TOKEN"',
    ],
    [
      'a wrong token',
      'api',
      { ...sent, authorization: `Bearer ${TOKEN}x` },
      401,
      'UNAUTHORIZED',
      'this request has a token that is not valid here',
    ],
    [
      'a token that is longer than any',
      'api',
      { ...sent, authorization: `Bearer ${TOKEN}${'x'.repeat(1_000)}` },
      401,
      'UNAUTHORIZED',
      'this request has a token that is not valid here',
    ],
  ])('%s', async (_, path, headers, status, code, detail) => {
    const own = await stage()
    const answer = await check(own, path, headers)
    expect([answer.status, answer.headers['content-type']]).toEqual([status, 'application/problem+json'])
    expect(JSON.parse(answer.body)).toMatchObject({ type: 'about:blank', status, code, detail })
    for (const [policy, left] of [['api', 10] as const, ['messages', 5] as const]) {
      for (const key of ['a', 'b']) expect([policy, await own.remaining(policy, key)]).toEqual([policy, left])
    }
  })
})

describe('the host of a check', () => {
  it('may be any, because a proxy passes its client’s on: the token says who asks', async () => {
    const own = await stage()
    const { status } = await check(own, 'api', { 'x-sluice-key': 'a', host: 'shop.example' })
    expect(status).toBe(200)
  })

  it('does not help a web page whose name leads here: it has no token', async () => {
    const own = await stage()
    const { status } = await ask(own, '/v1/check/api', { headers: { 'x-sluice-key': 'a', host: 'evil.example' } })
    expect(status).toBe(401)
    expect(await own.remaining('api', 'a')).toBe(10)
  })

  it('is still this machine for everything else, also with the token', async () => {
    const headers = { authorization: `Bearer ${TOKEN}`, host: 'shop.example' }
    for (const path of ['/v1/live', '/v1/check', '/healthz']) {
      expect((await ask(await stage(), path, { headers })).status).toBe(421)
    }
  })

  it('is named once', async () => {
    const own = await stage()
    const { socket, said, ended } = await rawConnection(own)
    const head = `GET /v1/check/api HTTP/1.1\r\nAuthorization: Bearer ${TOKEN}\r\nX-Sluice-Key: a\r\nConnection: close\r\n`
    socket.write(`${head}Host: a\r\nhOST: b\r\n\r\n`)
    await ended
    expect(said()).toContain('a request must have one Host header, got 2')
    expect(await own.remaining('api', 'a')).toBe(10)
  })
})
