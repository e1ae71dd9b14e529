import { PassThrough } from 'node:stream'
import { type FastifyInstance, type FastifyRequest, fastify as fastify5 } from 'fastify'
import fastify4 from 'fastify4'
import type { FastifyOptions } from 'sluice/fastify'
import { rateLimit } from 'sluice/fastify'
import { adapterSuite } from './adapter-suite.ts'
import { answerTests } from './fastify-answers.ts'
import { hangUpTests } from './fastify-hang-ups.ts'
import { pluginTests } from './fastify-plugin.ts'
import type { App, AppConfig } from './frame.ts'

const majors: readonly (readonly [string, typeof fastify5])[] = [
  ['Fastify 5', fastify5],
  ['Fastify 4', fastify4],
]

async function start(
  fastify: typeof fastify5,
  { app: whole, route, hops, teapot, ownBody, slow }: AppConfig<FastifyRequest>,
): Promise<App> {
  // With a number, Fastify 5 believes no proxy.
  const trustProxy = hops === undefined ? false : (_address: string, hop: number) => hop < hops
  const app: FastifyInstance = fastify({ trustProxy, forceCloseConnections: true })
  const onRefused: FastifyOptions['onRefused'] = (_request, reply, { retryAfterMs }) =>
    ownBody === true ? { wait: retryAfterMs } : reply.code(418).send(`teapot ${retryAfterMs}`)
  const answering = teapot === true || ownBody === true ? { onRefused } : {}
  if (whole === undefined) await app.register(rateLimit, { global: false, ...answering })
  else await app.register(rateLimit, { ...whole, ...answering })
  const answer = async (request: FastifyRequest) => ({ remaining: request.rateLimit?.remaining ?? null })
  app.get('/', answer)
  app.post('/', answer)
  app.options('/', answer)
  app.get('/route', route === undefined ? {} : { preHandler: app.rateLimit(route) }, answer)
  app.get('/fail', (_request, reply) => reply.code(500).send('failed'))
  app.get('/denied', (_request, reply) => reply.code(401).send('denied'))
  app.get('/throw', async () => {
    throw new Error('thrown')
  })
  app.get('/slow', async () => {
    await slow?.()
    return 'slow'
  })
  app.get('/stream', async (_request, reply) => {
    const body = new PassThrough()
    body.write('one ')
    void slow?.().then(() => body.end('two'))
    return reply.send(body)
  })
  return { url: await app.listen({ port: 0, host: '127.0.0.1' }), close: () => app.close() }
}

for (const [name, fastify] of majors) {
  adapterSuite<FastifyRequest>({
    name,
    header: (request, header) => request.headers[header] as string | undefined,
    start: (config) => start(fastify, config),
  })
  pluginTests(name, fastify)
  answerTests(name, fastify)
  hangUpTests(name, fastify)
}
