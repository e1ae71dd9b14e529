// A Worker that reaches Redis over TCP: each request opens a connection of its own, or keeps using that of an earlier one.
import { env } from 'cloudflare:workers'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { createLimiter, fixedWindow } from 'sluice'
import { redisStore } from 'sluice/redis'

const rule = fixedWindow({ limit: 100, window: '1d' })
const limitBy = (client) =>
  createLimiter({ name: 'tcp', rule, store: redisStore(client), onStoreFailure: 'throw', timeout: env.TIMEOUT })

let kept

const routes = {
  '/ioredis': async () => {
    const client = new Redis(env.PORT, '127.0.0.1')
    const decision = await limitBy(client).consume('ann')
    client.disconnect()
    return decision
  },
  '/node-redis': async () => {
    const client = await createClient({ url: `redis://127.0.0.1:${env.PORT}` }).connect()
    const decision = await limitBy(client).consume('ann')
    client.destroy()
    return decision
  },
  '/kept': () => {
    kept ??= limitBy(new Redis(env.PORT, '127.0.0.1'))
    return kept.consume('ben')
  },
}

// biome-ignore lint/style/noDefaultExport: a Worker is what its module exports so.
export default {
  async fetch(request) {
    try {
      return Response.json(await routes[new URL(request.url).pathname]())
    } catch (error) {
      return new Response(error.message, { status: 500 })
    }
  },
}
