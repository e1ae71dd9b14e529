import { request } from 'node:http'
import { describe, expect, it } from 'vitest'
import { type Stage, serving } from './service-stage.ts'

const asked = { policy: 'api', key: 'a' }

/** Asks with headers that fetch would not send as they are. */
const ask = (
  { port }: Stage,
  path: string,
  options: { method?: string; headers?: Record<string, string>; body?: string },
) => {
  return new Promise<{ status: number | undefined; body: string; headers: Record<string, unknown> }>(
    (resolve, reject) => {
      const { method = 'GET', headers = {}, body } = options
      request({ port, host: '127.0.0.1', path, method, headers, agent: false }, (response) => {
        let text = ''
        response.on('data', (chunk) => {
          text += chunk
        })
        response.on('end', () => resolve({ status: response.statusCode, body: text, headers: response.headers }))
      })
        .on('error', reject)
        .end(body)
    },
  )
}

describe('a token', () => {
  it.each([
    ['is missing', ''],
    ['is wrong', 'Bearer correct-horse-battery-stable'],
    ['is a part of it', 'Bearer correct-horse-battery'],
    ['is told otherwise', 'Basic correct-horse-battery-staple'],
    ['is followed by something', 'Bearer correct-horse-battery-staple x'],
  ])('that %s lets nobody change anything', async (_, authorization) => {
    const stage = await serving()
    const paths = ['consume', 'give-back', 'charge', 'reserve', 'settle', 'cancel', 'block', 'unblock', 'reset']
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
    const { post, get } = await serving()
    expect((await post('/v1/peek', asked, { authorization: '' })).status).toBe(200)
    expect((await get('/v1/live')).status).toBe(200)
    expect((await get('/v1/policies')).status).toBe(200)
  })

  it('is needed for everything but health and metrics where others can look', async () => {
    const { post, get } = await serving({ host: '0.0.0.0' })
    expect((await post('/v1/peek', asked, { authorization: '' })).status).toBe(401)
    const statuses = await Promise.all(
      ['/v1/live', '/v1/policies', '/healthz', '/readyz', '/metrics'].map(async (path) => (await get(path)).status),
    )
    expect(statuses).toEqual([401, 401, 200, 200, 200])
    expect((await get('/v1/live', { authorization: 'Bearer correct-horse-battery-staple' })).status).toBe(200)
    expect((await post('/v1/peek', asked)).status).toBe(200)
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
