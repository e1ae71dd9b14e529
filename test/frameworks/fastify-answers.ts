import type { FastifyRequest, FastifyServerOptions, fastify as fastify5 } from 'fastify'
import { concurrency, createLimiter } from 'sluice'
import { byUser, rateLimit } from 'sluice/fastify'
import { expect, it } from 'vitest'
import { limited, statuses, withSite } from './fastify-plugin.ts'

/** When it is decided, and how refusals and failures are answered. */
export function answerTests(title: string, fastify: typeof fastify5): void {
  const ok = async (): Promise<string> => 'ok'
  const post = (body: unknown): RequestInit => ({
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })

  withSite(`${title}: the hook`, fastify, ({ app: make, daily, asking }) => {
    it('refuses before the body is read, unless the hook is a later one', async () => {
      const app = make()
      await app.register(rateLimit, { limiter: daily(1) })
      app.post('/early', ok)
      app.post('/late', { config: limited({ hook: 'preHandler' }) }, ok)
      const ask = await asking(app)
      expect((await ask('/early', post('{'))).status).toBe(400)
      expect((await ask('/early', post('{'))).status).toBe(429)
      expect((await ask('/late', post('{'))).status).toBe(400)
      expect((await ask('/late', post({}))).status).toBe(429)
    })

    it('knows the body with a hook that waits for it', async () => {
      const app = make()
      const limiter = daily(10)
      const cost = ({ body }: FastifyRequest) => (body as { readonly tokens: number } | undefined)?.tokens ?? 1
      await app.register(rateLimit, { limiter, cost, hook: 'preValidation', key: () => 'all' })
      app.post('/', async (request) => request.rateLimit?.remaining)
      app.post('/parsing', { config: limited({ hook: 'preParsing' }) }, async ({ body, rateLimit }) => [
        body,
        rateLimit?.remaining,
      ])
      const ask = await asking(app)
      expect(await (await ask('/', post({ tokens: 7 }))).text()).toBe('3')
      expect((await ask('/', post({ tokens: 4 }))).status).toBe(429)
      expect(await (await ask('/parsing', post({ tokens: 4 }))).json()).toEqual([{ tokens: 4 }, 2])
      await limiter.charge('all', 2)
      expect((await ask('/parsing', post({ tokens: 4 }))).status).toBe(429)
    })

    it('knows the user whom a hook has found before', async () => {
      const app = make()
      const limiter = daily(1)
      const key = byUser((request: FastifyRequest & { user?: string }) => request.user)
      await app.register(rateLimit, { limiter, key, onMissingKey: 'refuse' })
      app.decorateRequest('user', undefined)
      // Added later than the plugin, and yet it comes first.
      app.addHook('onRequest', async (request) => void Object.assign(request, { user: request.headers['x-user'] }))
      app.get('/', ok)
      const ask = await asking(app)
      const by = async (user: string) => (await ask('/', { headers: { 'x-user': user } })).status
      expect([await by('ann'), await by('bob'), await by('ann')]).toEqual([200, 200, 429])
      expect((await ask('/')).status).toBe(403)
    })

    it('limits what has no route', async () => {
      const app = make()
      await app.register(rateLimit, { limiter: daily(9) })
      app.get('/', ok)
      const misses = daily(2)
      app.setNotFoundHandler({ preHandler: app.rateLimit({ limiter: misses }) }, async (_request, reply) =>
        reply.code(404).send('none'),
      )
      expect(await statuses(await asking(app), '/a', '/b', '/c', '/')).toEqual([404, 404, 429, 200])
    })

    it('stands on routes whose types are known', async () => {
      const app = make()
      await app.register(rateLimit, { global: false, limiter: daily(1) })
      const onRequest = app.rateLimit()
      app.get<{ Params: { id: string }; Querystring: { page: number } }>('/:id', { onRequest }, async (request) => {
        const id: string = request.params.id
        return id
      })
      app.addHook('preParsing', app.rateLimit({ limiter: daily(5) }))
      expect(await statuses(await asking(app), '/1', '/2')).toEqual([200, 429])
    })
  })

  withSite(`${title}: answers`, fastify, ({ app: make, daily, asking }) => {
    it('go through the hooks, and past the response schemas, of Fastify', async () => {
      const app = make()
      const sent: unknown[] = []
      app.addHook('onSend', async (_request, reply, payload) => {
        // Later than the end of the hook that has sent it.
        await new Promise((resolve) => setImmediate(resolve))
        sent.push(JSON.parse(payload as string))
        reply.header('x-sent', 'yes')
      })
      await app.register(rateLimit, { limiter: daily(1) })
      let handled = 0
      const schema = { response: { '4xx': { type: 'object', properties: { error: { type: 'string' } } } } }
      app.get('/', { schema }, async () => {
        handled++
        return {}
      })
      const ask = await asking(app)
      await ask('/')
      const refused = await ask('/')
      expect([refused.status, refused.headers.get('x-sent'), handled]).toEqual([429, 'yes', 1])
      expect(refused.headers.get('content-type')).toMatch(/^application\/problem\+json\b/)
      const problem = await refused.json()
      expect(problem).toMatchObject({ title: 'Too Many Requests', status: 429 })
      expect(sent[1]).toEqual(problem)
    })

    it('are what onRefused returns, sends or throws', async () => {
      const app = make()
      app.addHook('onSend', async () => void (await new Promise((resolve) => setImmediate(resolve))))
      let handled = 0
      const count = async () => ({ handled: ++handled })
      const limiter = daily(1)
      await limiter.charge('all')
      await app.register(rateLimit, { limiter, key: () => 'all' })
      app.get('/returns', { config: limited({ onRefused: (_, __, { limit }) => ({ limit }) }) }, count)
      app.get('/awaits', { config: limited({ onRefused: async () => 'slowly' }) }, count)
      app.get('/sends', { config: limited({ onRefused: (_, reply) => void reply.code(418).send('tea') }) }, count)
      app.get('/replies', { config: limited({ onRefused: (_, reply) => reply.code(418).send('tea') }) }, count)
      app.get('/throws', { config: limited({ onRefused: () => Promise.reject(new Error('no')) }) }, count)
      const ask = await asking(app)
      const answered = async (path: string) => {
        const response = await ask(path)
        return [response.status, await response.text(), response.headers.has('retry-after')]
      }
      expect(await answered('/returns')).toEqual([429, '{"limit":1}', true])
      expect(await answered('/awaits')).toEqual([429, 'slowly', true])
      expect(await answered('/sends')).toEqual([418, 'tea', true])
      expect(await answered('/replies')).toEqual([418, 'tea', true])
      expect(await answered('/throws')).toEqual([429, expect.stringContaining('"message":"no"'), true])
      expect(handled).toBe(0)
    })

    it('to what the limiter could not do come from the error handler', async () => {
      const app = make()
      const limiter = daily(1)
      await limiter.close()
      app.setErrorHandler(async (error, _request, reply) => reply.code(503).send((error as { code: unknown }).code))
      await app.register(rateLimit, { limiter })
      app.get('/', ok)
      const response = await (await asking(app))('/')
      expect([response.status, await response.text()]).toEqual([503, 'LIMITER_CLOSED'])
    })

    it('that are injected release their permits', async () => {
      const app = make()
      const places = createLimiter({ name: `${title} places`, rule: concurrency({ limit: 1, lease: 60_000 }) })
      await app.register(rateLimit, { limiter: places })
      app.get('/', ok)
      for (const _ of [1, 2, 3]) expect((await app.inject('/')).statusCode).toBe(200)
    })
  })

  withSite(`${title}: behind proxies`, fastify, ({ app: make, daily, asking }) => {
    const warned = async (trustProxy: unknown): Promise<unknown> => {
      const app = make({ trustProxy } as FastifyServerOptions)
      const codes: string[] = []
      app.register(async (child) => {
        await child.register(rateLimit, { limiter: daily(9), onWarning: (_, code) => codes.push(code) })
        child.get('/', async (request) => request.ip)
      })
      const ask = await asking(app)
      const found = await (await ask('/', { headers: { 'x-forwarded-for': '198.51.100.1, 203.0.113.7' } })).text()
      return [found, ...codes]
    }

    it('warns when no proxy is trusted, or all are', async () => {
      expect(await warned(false)).toEqual(['127.0.0.1', 'PROXY_NOT_TRUSTED'])
      expect(await warned(undefined)).toEqual(['127.0.0.1', 'PROXY_NOT_TRUSTED'])
      expect(await warned(true)).toEqual(['198.51.100.1', 'ALL_PROXIES_TRUSTED'])
    })

    it('is quiet when some are', async () => {
      expect(await warned('127.0.0.1')).toEqual(['203.0.113.7'])
      expect(await warned(['loopback'])).toEqual(['203.0.113.7'])
      expect(await warned(['10.0.0.0/8'])).toEqual(['127.0.0.1'])
      expect(await warned((_address: string, hop: number) => hop < 1)).toEqual(['203.0.113.7'])
    })

    it('warns when a number is ignored, as Fastify 5 does', async () => {
      const ignored = ['127.0.0.1', 'PROXY_NOT_TRUSTED']
      expect(await warned(1)).toEqual(title === 'Fastify 4' ? ['203.0.113.7'] : ignored)
    })
  })
}
