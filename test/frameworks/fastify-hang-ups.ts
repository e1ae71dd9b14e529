import { once } from 'node:events'
import { type ClientHttp2Session, connect as connect2 } from 'node:http2'
import { connect } from 'node:net'
import type { FastifyInstance, FastifyRequest, FastifyServerOptions, fastify as fastify5 } from 'fastify'
import { concurrency, createLimiter } from 'sluice'
import { rateLimit } from 'sluice/fastify'
import { expect, it } from 'vitest'
import { withSite } from './fastify-plugin.ts'

/** Something that happens later. */
interface Later {
  readonly happened: Promise<void>
  happens(): void
}

function later(): Later {
  let happens = (): void => {}
  const happened = new Promise<void>((resolve) => {
    happens = resolve
  })
  return { happened, happens: () => happens() }
}

/** Clients that do not wait for their answers, on HTTP/1.1 and on HTTP/2. */
export function hangUpTests(title: string, fastify: typeof fastify5): void {
  const ok = async (): Promise<string> => 'ok'
  const portOf = ({ server }: FastifyInstance): number => (server.address() as { readonly port: number }).port

  withSite(`${title}: who hangs up`, fastify, ({ app: make, daily, asking }) => {
    /** An app of one permit, at whose GET / the limiter is asked for until the client has gone. */
    const busy = async (options: object) => {
      const app = make(options as FastifyServerOptions)
      const places = createLimiter({
        name: `${title} ${Object.keys(options)}`,
        rule: concurrency({ limit: 1, lease: 60_000 }),
      })
      const [asked, gone] = [later(), later()]
      const key = async (request: FastifyRequest): Promise<string> => {
        request.raw.once('close', gone.happens)
        asked.happens()
        await gone.happened
        return 'all'
      }
      await app.register(rateLimit, { limiter: places, key })
      app.get('/', ok)
      await asking(app)
      const isFree = () => expect.poll(async () => (await places.peek('all')).remaining).toBe(1)
      return { app, asked, gone, isFree }
    }
    const session = (app: FastifyInstance): ClientHttp2Session => connect2(`http://127.0.0.1:${portOf(app)}`)

    it('while the limiter is asked leaves no permit taken', async () => {
      const { app, asked, gone, isFree } = await busy({})
      const socket = connect(portOf(app), '127.0.0.1')
      socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
      await asked.happened
      socket.destroy()
      await gone.happened
      await isFree()
    })

    it('while the limiter is asked leaves no permit taken on HTTP/2', async () => {
      const { app, asked, gone, isFree } = await busy({ http2: true })
      const client = session(app)
      const stream = client.request({ ':path': '/' })
      await asked.happened
      stream.close()
      await gone.happened
      await isFree()
      client.destroy()
    })

    it('before the answer is counted on HTTP/2, where only failures are', async () => {
      const app = make({ http2: true } as FastifyServerOptions)
      const limiter = daily(3)
      const settled: number[] = []
      limiter.on('settled', ({ decision }) => settled.push(decision.remaining))
      const heard = later()
      await app.register(rateLimit, { limiter, key: () => 'all', count: 'failed' })
      app.get('/', ok)
      app.get('/denied', (_request, reply) => reply.code(401).send('denied'))
      app.get('/never', () => heard.happens())
      await asking(app)
      const client = session(app)
      const get = async (path: string): Promise<unknown> => {
        const stream = client.request({ ':path': path })
        const [headers] = await once(stream, 'response')
        await once(stream.resume(), 'close')
        return headers[':status']
      }
      expect(await get('/')).toBe(200)
      await expect.poll(() => settled).toEqual([3])
      expect(await get('/denied')).toBe(401)
      await expect.poll(() => settled).toEqual([3, 2])
      const abandoned = client.request({ ':path': '/never' })
      await heard.happened
      abandoned.close()
      await expect.poll(() => settled).toEqual([3, 2, 1])
      expect(await get('/denied')).toBe(401)
      expect(await get('/denied')).toBe(429)
      client.destroy()
    })
  })
}
