import { describe, expect, it } from 'vitest'
import { ask } from './ask.ts'
import { rawConnection } from './raw-connection.ts'
import { type Stage, serving, TOKEN } from './service-stage.ts'

const asked = { policy: 'api', key: 'a' }

/** What proxies add to a request that they pass on. */
const FORWARDED = [
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-port',
  'x-original-forwarded-for',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'true-client-ip',
  'cf-connecting-ip',
  'fastly-client-ip',
  'x-envoy-external-address',
  'via',
]
const PROXIED = new Map([
  ['forwarded', 'for=203.0.113.7;proto=https'],
  ['x-forwarded-host', 'localhost'],
  ['x-forwarded-proto', ''],
  ['via', '1.1 proxy'],
])
const OPEN = {
  '/v1/peek': 200,
  '/v1/key': 200,
  '/v1/live': 200,
  '/v1/policies': 200,
  '/metrics': 200,
  '/healthz': 200,
  '/readyz': 200,
}
const LOCKED = { ...OPEN, '/v1/peek': 401, '/v1/key': 401, '/v1/live': 401, '/v1/policies': 401, '/metrics': 401 }

/** The statuses of everything that can be looked at. */
const fetchReads = async (stage: Stage, headers: Record<string, string>) => {
  const reads = Object.keys(OPEN).map(async (path) => {
    const isPost = path === '/v1/peek' || path === '/v1/key'
    const post = {
      method: 'POST',
      body: JSON.stringify(asked),
      headers: { ...headers, 'content-type': 'application/json' },
    }
    return [path, (await ask(stage, path, isPost ? post : { headers })).status]
  })
  return Object.fromEntries(await Promise.all(reads))
}

describe('a token', () => {
  it.each([
    ['is missing', ''],
    ['is wrong', 'Bearer correct-horse-battery-stable'],
    ['is a part of it', 'Bearer correct-horse-battery'],
    ['has another scheme', 'Basic correct-horse-battery-staple'],
    ['is followed by something', 'Bearer correct-horse-battery-staple x'],
  ])('that %s changes nothing', async (_, authorization) => {
    const stage = await serving()
    const paths = ['consume', 'refund', 'charge', 'reserve', 'settle', 'cancel', 'block', 'unblock', 'reset']
    for (const path of paths) {
      const { status, headers, body } = await stage.post(`/v1/${path}`, asked, { authorization })
      expect([path, status, headers.get('www-authenticate')]).toEqual([path, 401, 'Bearer'])
      expect(body.error.code).toBe('UNAUTHORIZED')
      expect(JSON.stringify(body)).not.toContain('battery')
    }
    expect(await stage.remaining('api', 'a')).toBe(10)
  })

  it('is asked for before the body is read', async () => {
    const stage = await serving()
    expect((await stage.post('/v1/consume', 'no JSON', { authorization: '' })).status).toBe(401)
  })

  it('may be announced in any case', async () => {
    const { post } = await serving()
    const authorization = 'bearer   correct-horse-battery-staple'
    expect((await post('/v1/consume', asked, { authorization })).status).toBe(200)
  })

  it('is not needed to look, on this machine', async () => {
    expect(await fetchReads(await serving(), {})).toEqual(OPEN)
  })

  it.each(FORWARDED)('is needed to look when a proxy passes a request on, as %s says', async (name) => {
    const stage = await serving()
    const headers = { [name]: PROXIED.get(name) ?? '203.0.113.7' }
    expect(await fetchReads(stage, headers)).toEqual(LOCKED)
    expect(await fetchReads(stage, { ...headers, authorization: `Bearer ${TOKEN}` })).toEqual(OPEN)
    const { body } = await ask(stage, '/v1/live', { headers })
    expect(JSON.parse(body).error.message).toBe(
      'this request needs the header "Authorization: Bearer TOKEN": without it only this machine may look, and through no proxy',
    )
  })

  it('is needed to look where a name was allowed, which only a proxy passes on: by whatever name, with whatever headers', async () => {
    const stage = await serving({ hosts: ['limits.example'] })
    for (const host of ['limits.example', 'localhost']) {
      expect(await fetchReads(stage, { host })).toEqual(LOCKED)
      expect(await fetchReads(stage, { host, authorization: `Bearer ${TOKEN}` })).toEqual(OPEN)
    }
  })

  it('is needed to look by HTTP/1.0, which nginx speaks to a service and no browser does', async () => {
    const { socket, said, ended } = await rawConnection(await serving())
    socket.write('GET /v1/live HTTP/1.0\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n')
    await ended
    expect(said()).toContain('HTTP/1.1 401 ')
  })

  it('is needed for everything but health where others can look', async () => {
    const stage = await serving({ host: '0.0.0.0' })
    expect(await fetchReads(stage, {})).toEqual(LOCKED)
    expect(await fetchReads(stage, { authorization: `Bearer ${TOKEN}` })).toEqual(OPEN)
  })

  it.each([
    ['short', 'short', '5 characters'],
    ['of two words', 'correct horse battery', '21 characters'],
    ['no text', 42, '42'],
  ])('that is %s is none', async (_, token, got) => {
    await expect(serving({ token: token as string })).rejects.toThrow(
      `the token must be 16 to 1000 printable ASCII characters without spaces, got ${got}`,
    )
  })
})

describe('the host of a request', () => {
  it.each(['localhost', 'LOCALHOST:8080', '127.0.0.1', '127.8.9.10:80', '[::1]:8080', '[::1]'])(
    'may be %s on this machine',
    async (host) => {
      const stage = await serving()
      expect((await ask(stage, '/healthz', { headers: { host } })).status).toBe(200)
    },
  )

  it.each(['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', '10.0.0.1', 'a:b:c', '[::2]'])(
    'may not be "%s": a page elsewhere could have its name lead here',
    async (host) => {
      const stage = await serving()
      const headers = { host, 'content-type': 'application/json', authorization: 'Bearer correct-horse-battery-staple' }
      const { status, body } = await ask(stage, '/v1/consume', { method: 'POST', headers, body: JSON.stringify(asked) })
      expect(status).toBe(421)
      expect(JSON.parse(body).error.code).toBe('WRONG_HOST')
      expect(await stage.remaining('api', 'a')).toBe(10)
    },
  )

  it('may be another name that was allowed', async () => {
    const stage = await serving({ hosts: ['limits.example'] })
    expect((await ask(stage, '/healthz', { headers: { host: 'limits.example:443' } })).status).toBe(200)
  })

  it('is anything where others can ask too', async () => {
    const stage = await serving({ host: '0.0.0.0' })
    expect((await ask(stage, '/healthz', { headers: { host: 'limits.example' } })).status).toBe(200)
  })
})

describe('what there is not', () => {
  it('is not found', async () => {
    const { get, post } = await serving()
    expect(await get('/v1/nothing')).toMatchObject({ status: 404, body: { error: { code: 'NOT_FOUND' } } })
    expect((await post('/v1/constructor', {})).status).toBe(404)
    expect((await get('/')).status).toBe(404)
  })

  it.each([
    ['GET', '/v1/consume', 'POST'],
    ['DELETE', '/v1/reset', 'POST'],
    ['POST', '/v1/live', 'GET, HEAD'],
    ['PUT', '/healthz', 'GET, HEAD'],
  ])('is %s of %s', async (method, path, allow) => {
    const stage = await serving()
    const { status, headers, body } = await ask(stage, path, { method })
    expect([status, headers.allow, JSON.parse(body).error.code]).toEqual([405, allow, 'METHOD_NOT_ALLOWED'])
  })

  it('is leave for other pages', async () => {
    const { get } = await serving()
    const { headers } = await get('/v1/live', { origin: 'http://evil.example' })
    expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
  })
})

it('a query after the path changes nothing', async () => {
  const { get } = await serving()
  expect((await get('/healthz?at=once')).status).toBe(200)
})
