// A Worker whose requests share one limiter on a Redis that speaks HTTP.
import { env } from 'cloudflare:workers'
import { createLimiter, fixedWindow } from 'sluice'
import { redisStore, upstashConnection } from 'sluice/redis'
import { runContract } from './run-contract.mjs'

const open = () => redisStore(upstashConnection({ url: env.ADDRESS, token: env.TOKEN }))
const rule = fixedWindow({ limit: 100, window: '1d' })
const limiter = createLimiter({ name: 'shared', rule, store: open(), onStoreFailure: 'throw', timeout: '1m' })

// biome-ignore lint/style/noDefaultExport: a Worker is what its module exports so.
export default {
  async fetch(request) {
    const [, method, key] = new URL(request.url).pathname.split('/')
    return Response.json(method === 'contract' ? await runContract(open) : await limiter[method](key, { cost: 1 }))
  },
}
