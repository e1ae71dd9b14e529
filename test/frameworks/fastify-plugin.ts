import type { FastifyInstance, FastifyServerOptions, fastify as fastify5 } from 'fastify'
import { createLimiter, fixedWindow, type Limiter } from 'sluice'
import { type FastifyRouteOptions, type RateLimitConfig, rateLimit } from 'sluice/fastify'
import { afterEach, describe, expect, it } from 'vitest'

/** What the parts work with. */
export interface Site {
  /** An app that is closed after the test. */
  app(options?: FastifyServerOptions): FastifyInstance
  /** A limiter of a name of its own. */
  daily(limit: number): Limiter
  /** Starts the app, and answers with how to ask it. */
  asking(app: FastifyInstance): Promise<(path: string, init?: RequestInit) => Promise<Response>>
}

/** The config of a route. Both this plugin and `@fastify/rate-limit` are known here, and their types do not go together. */
export function limited(options: FastifyRouteOptions | false): object {
  const config: RateLimitConfig = { rateLimit: options }
  return config
}

/** Runs `parts` with a site of this Fastify. */
export function withSite(title: string, fastify: typeof fastify5, parts: (site: Site) => void): void {
  describe(title, () => {
    const apps: FastifyInstance[] = []
    afterEach(async () => {
      for (const app of apps.splice(0)) await app.close()
    })
    let names = 0
    parts({
      app(options = {}) {
        const app: FastifyInstance = fastify({ forceCloseConnections: true, ...options })
        apps.push(app)
        return app
      },
      daily: (limit) =>
        createLimiter({ name: `${title} ${names++}`, rule: fixedWindow({ limit, window: 86_400_000 }) }),
      async asking(app) {
        const url = await app.listen({ port: 0, host: '127.0.0.1' })
        return (path, init) => fetch(url + path, init)
      },
    })
  })
}

/** The statuses of one request after the other. */
export async function statuses(
  ask: (path: string) => Promise<Response>,
  ...paths: readonly string[]
): Promise<readonly number[]> {
  const found: number[] = []
  for (const path of paths) found.push((await ask(path)).status)
  return found
}

/** Which routes are limited, and by what. */
export function pluginTests(title: string, fastify: typeof fastify5): void {
  const ok = async (): Promise<string> => 'ok'

  withSite(`${title}: the plugin`, fastify, ({ app: make, daily, asking }) => {
    it('limits all routes of the instance that it is registered on, those of later plugins among them', async () => {
      const app = make()
      await app.register(rateLimit, { limiter: daily(2) })
      app.get('/', ok)
      app.register(async (child) => void child.get('/child', ok))
      expect(await statuses(await asking(app), '/', '/child', '/', '/child')).toEqual([200, 200, 429, 429])
    })

    it('is refused by Fastify 3 at the start', async () => {
      const app = make()
      Object.defineProperty(app, 'version', { value: '3.29.5' })
      const said = /^fastify-plugin: sluice - expected '>=4' fastify version, '3\.29\.5' is installed$/
      await expect(async () => app.register(rateLimit, { limiter: daily(2) })).rejects.toThrow(said)
    })

    it('limits nothing outside of the context that it is registered in', async () => {
      const app = make()
      app.register(async (child) => {
        await child.register(rateLimit, { limiter: daily(1), prefix: '/ignored' })
        child.get('/in', ok)
      })
      app.get('/out', ok)
      expect(await statuses(await asking(app), '/in', '/in', '/out', '/out')).toEqual([200, 429, 200, 200])
    })

    it('changes any option for a route, and keeps the others', async () => {
      const app = make()
      const limiter = daily(10)
      await app.register(rateLimit, { limiter, key: () => 'all', headers: 'draft-7' })
      app.get('/five', { config: limited({ cost: 5, headers: undefined as never }) }, ok)
      app.get('/legacy', { config: limited({ headers: 'legacy' }) }, ok)
      app.get('/skipping', { config: limited({ skip: (request) => request.headers['x-health'] === '1' }) }, ok)
      const ask = await asking(app)
      expect((await ask('/five')).headers.get('ratelimit')).toMatch(/^limit=10, remaining=5, /)
      expect((await ask('/legacy')).headers.get('x-ratelimit-remaining')).toBe('4')
      await ask('/skipping', { headers: { 'x-health': '1' } })
      expect((await limiter.peek('all')).remaining).toBe(4)
      await ask('/skipping')
      expect((await limiter.peek('all')).remaining).toBe(3)
    })

    it('leaves a route alone that switches it off', async () => {
      const app = make()
      await app.register(rateLimit, { limiter: daily(1) })
      app.get('/', ok)
      app.get('/health', { config: limited(false) }, async (request) => `${request.rateLimit}`)
      const ask = await asking(app)
      expect(await statuses(ask, '/', '/health', '/health', '/')).toEqual([200, 200, 200, 429])
      expect(await (await ask('/health')).text()).toBe('undefined')
    })

    it('takes the limiter of a route instead of its own, and routes with the same limiter are a group', async () => {
      const app = make()
      const [whole, group, alone] = [daily(9), daily(2), daily(1)]
      await app.register(rateLimit, { limiter: whole, key: () => 'all' })
      app.get('/send', { config: limited({ limiter: group }) }, ok)
      app.post('/resend', { config: limited({ limiter: group }) }, ok)
      app.get('/one', { config: limited({ limiter: alone }) }, ok)
      app.get('/other', { config: limited({ limiter: daily(1) }) }, ok)
      const ask = await asking(app)
      expect((await ask('/send')).status).toBe(200)
      expect((await ask('/resend', { method: 'POST' })).status).toBe(200)
      expect(await statuses(ask, '/send', '/one', '/other', '/one')).toEqual([429, 200, 200, 429])
      expect((await ask('/resend', { method: 'POST' })).status).toBe(429)
      expect((await whole.peek('all')).remaining).toBe(9)
      expect((await group.peek('all')).remaining).toBe(0)
    })

    it('has no fresh bucket for another way to write a path', async () => {
      const routerOptions = { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true, caseSensitive: false }
      const app = make(title === 'Fastify 4' ? (routerOptions as object) : { routerOptions })
      await app.register(rateLimit, { limiter: daily(9) })
      app.get('/route', { config: limited({ limiter: daily(6) }) }, ok)
      app.register(async (child) => void child.get('/', { config: limited({ limiter: daily(2) }) }, ok), {
        prefix: '/p',
      })
      app.get('/users/:name', { config: limited({ limiter: daily(2) }) }, ok)
      const ask = await asking(app)
      const written = ['/route', '/route/', '/ROUTE', '//route', '/Route/?x=1', '/rout%65', '/route']
      expect(await statuses(ask, ...written)).toEqual([200, 200, 200, 200, 200, 200, 429])
      expect(await statuses(ask, '/p', '/p/', '/P')).toEqual([200, 200, 429])
      expect(await statuses(ask, '/users/ann', '/users/bob', '/users/eve')).toEqual([200, 200, 429])
    })

    it('counts both forms of a prefix as one route', async () => {
      const app = make()
      await app.register(rateLimit, { limiter: daily(2) })
      app.register(async (child) => void child.get('/', ok), { prefix: '/p' })
      expect(await statuses(await asking(app), '/p', '/p/', '/p', '/p/')).toEqual([200, 200, 429, 429])
    })

    it('limits only routes that ask for it, when it is not global', async () => {
      const app = make()
      await app.register(rateLimit, { global: false, limiter: daily(1) })
      app.get('/', ok)
      app.get('/asks', { config: limited({}) }, ok)
      app.get('/brings', { config: limited({ limiter: daily(2) }) }, ok)
      expect(await statuses(await asking(app), '/', '/', '/asks', '/asks')).toEqual([200, 200, 200, 429])
      const bare = make()
      await bare.register(rateLimit, { global: false })
      bare.get('/', ok)
      bare.get('/brings', { config: limited({ limiter: daily(1) }) }, ok)
      expect(await statuses(await asking(bare), '/', '/', '/brings', '/brings')).toEqual([200, 200, 200, 429])
    })

    it('takes the keys of tiers from the routes, when it is not global', async () => {
      const app = make()
      const rule = fixedWindow({ limit: 1, window: '1d' })
      const limiter = createLimiter({ name: 'tiers', tiers: { user: rule, ip: rule } })
      await app.register(rateLimit as never, { global: false, limiter } as never)
      app.get('/', { config: limited({ key: { user: () => 'ann', ip: () => 'x' } } as never) }, ok)
      expect(await statuses(await asking(app), '/', '/')).toEqual([200, 429])
      const all = make()
      await expect(all.register(rateLimit as never, { limiter } as never)).rejects.toThrow(
        'key is missing for the tiers',
      )
    })

    it('limits routes, also when the application did not wait for the plugin', async () => {
      const app = make()
      void app.register(rateLimit, { limiter: daily(1) })
      app.get('/', async (request) => request.rateLimit)
      const ask = await asking(app)
      expect(await (await ask('/')).json()).toMatchObject({ remaining: 0 })
      expect(await statuses(ask, '/', '/none')).toEqual([429, 404])
      const some = make()
      void some.register(rateLimit, { global: false, limiter: daily(1) })
      some.get('/', ok)
      some.get('/asks', { config: limited({}) }, ok)
      const askSome = await asking(some)
      expect(await statuses(askSome, '/', '/')).toEqual([200, 200])
      expect(await (await askSome('/asks')).json()).toMatchObject({
        statusCode: 500,
        message:
          'GET /asks: config.rateLimit needs the plugin first. Write await app.register(rateLimit, …) before the route',
      })
    })

    it('counts in all plugins that see a route, and once by a limiter of its own', async () => {
      const app = make()
      const [outer, inner, own] = [daily(9), daily(9), daily(9)]
      const key = () => 'all'
      await app.register(rateLimit, { limiter: outer, key })
      app.register(async (child) => {
        await child.register(rateLimit, { limiter: inner, key })
        child.get('/both', ok)
        child.get('/own', { config: limited({ limiter: own }) }, ok)
        child.get('/hook', { config: limited(false), preHandler: child.rateLimit({ cost: 4 }) }, ok)
      })
      const ask = await asking(app)
      const left = async () => Promise.all([outer, inner, own].map(async (each) => (await each.peek('all')).remaining))
      await ask('/both')
      expect(await left()).toEqual([8, 8, 9])
      await ask('/own')
      expect(await left()).toEqual([8, 8, 8])
      await ask('/hook')
      expect(await left()).toEqual([8, 4, 8])
    })

    it('comes after the hooks of a route, and leaves their list as it was', async () => {
      const app = make()
      const seen: string[] = []
      const note = async (request: { rateLimit?: unknown }) => void seen.push(typeof request.rateLimit)
      const shared = { onRequest: [note], preHandler: note }
      await app.register(rateLimit, { limiter: daily(9) })
      app.get('/', shared, ok)
      app.get('/second', shared, ok)
      app.route({ method: ['PUT', 'POST'], url: '/', onRequest: note, handler: ok })
      const ask = await asking(app)
      for (const path of ['/', '/second']) expect((await ask(path)).headers.get('ratelimit')).toMatch(/^"[^,]+$/)
      await ask('/', { method: 'PUT' })
      expect(seen).toEqual(['undefined', 'object', 'undefined', 'object', 'undefined'])
      expect(shared.onRequest).toEqual([note])
    })
  })

  withSite(`${title}: wrong options throw`, fastify, ({ app: make, daily }) => {
    it('when the plugin is registered', async () => {
      const register = async (options: object): Promise<unknown> => await make().register(rateLimit, options as never)
      const rule = 'a limiter made by createLimiter(), or a function of the request that picks one'
      await expect(register({})).rejects.toThrow(`limiter must be ${rule}, got undefined`)
      await expect(register({ limiter: daily(1), hook: 'onSend' })).rejects.toThrow(
        `hook must be 'onRequest', 'preParsing', 'preValidation' or 'preHandler', got "onSend"`,
      )
      await expect(register({ limiter: daily(1), global: 'no' })).rejects.toThrow(
        'global must be true or false, got "no"',
      )
      await expect(register({ global: false, kee: 1 })).rejects.toThrow(
        'rateLimit() has no option "kee", did you mean "key"?',
      )
      await expect(register({ global: false, limiter: daily(1), expiresIn: 0 })).rejects.toThrow(
        'expiresIn must be from 1 ms to 10 years',
      )
    })

    it('when a route is added, and the message names it', async () => {
      const app = make()
      await app.register(rateLimit, { global: false })
      const add = (config: object) => () => app.get('/x', { config }, ok)
      expect(add({ rateLimit: {} })).toThrow(
        'GET /x: limiter must be a limiter made by createLimiter(), or a function of the request that picks one, got undefined',
      )
      expect(add({ rateLimit: true })).toThrow(
        'GET /x: config.rateLimit takes options such as { limiter: … }, got true',
      )
      expect(add({ rateLimit: null })).toThrow(
        'GET /x: config.rateLimit takes options such as { limiter: … }, got null',
      )
      expect(add({ rateLimit: { limiter: daily(1), limit: 5 } })).toThrow(
        'GET /x: config.rateLimit has no option "limit": the rule has it, such as slidingWindow(',
      )
      expect(add({ rateLimit: { limiter: daily(1), hook: 'later' } })).toThrow(
        `GET /x: hook must be 'onRequest', 'preParsing'`,
      )
      const several = { method: ['PUT', 'POST'], url: '/x', handler: ok, config: { rateLimit: { key: 1 } } }
      expect(() => app.route(several as never)).toThrow(/^PUT, POST \/x: limiter must be /)
      expect(() => app.rateLimit({ cots: 1 } as never)).toThrow('app.rateLimit() has no option "cots"')
    })
  })
}
