import type { Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { type Context, Hono as Hono4 } from 'hono'
import { Hono as Hono3 } from 'hono3'
import { type HonoOptions, rateLimit } from 'sluice/hono'
import { adapterSuite } from './adapter-suite.ts'
import type { App, AppConfig } from './frame.ts'
import { listening } from './listening.ts'

type Hono = typeof Hono4

async function start(Hono: Hono, { app: whole, route, hops, teapot, ownBody, slow }: AppConfig<Context>): Promise<App> {
  const app = new Hono()
  const onRefused: HonoOptions['onRefused'] = (context, { retryAfterMs }) =>
    ownBody === true ? context.json({ wait: retryAfterMs }, 429) : context.text(`teapot ${retryAfterMs}`, 418)
  const answering = teapot === true || ownBody === true ? { onRefused } : {}
  const limit = (options: NonNullable<AppConfig<Context>['app']>) =>
    rateLimit({ ...options, ...(hops !== undefined && { trustProxy: hops }), ...answering })
  if (whole !== undefined) app.use('*', limit(whole))
  const answer = (context: Context) => context.json({ remaining: context.get('rateLimit')?.remaining ?? null })
  app.get('/', answer)
  app.post('/', answer)
  app.options('/', answer)
  app.get('/fail', (context) => context.text('failed', 500))
  app.get('/denied', () => new Response('denied', { status: 401 }))
  app.get('/throw', () => {
    throw new Error('thrown')
  })
  if (route === undefined) app.get('/route', answer)
  else app.get('/route', limit(route), answer)
  app.get('/slow', async (context) => {
    await slow?.()
    return context.text('slow')
  })
  app.get('/stream', () => {
    const parts = async function* () {
      yield new TextEncoder().encode('one ')
      await slow?.()
      yield new TextEncoder().encode('two')
    }
    return new Response(ReadableStream.from(parts()))
  })
  // Hono prints errors that the application does not take.
  app.onError((_error, context) => context.text('thrown', 500))
  return listening(createAdaptorServer({ fetch: app.fetch }) as Server)
}

for (const [name, Hono] of [
  ['Hono 4', Hono4],
  ['Hono 3', Hono3 as unknown as Hono],
] as const) {
  adapterSuite<Context>({
    name,
    header: (context, header) => context.req.header(header),
    start: (config) => start(Hono, config),
  })
}
