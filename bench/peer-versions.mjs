import { readFileSync } from 'node:fs'

const PEERS = [
  'rate-limiter-flexible',
  'rate-limit-redis',
  'express-rate-limit',
  '@fastify/rate-limit',
  'hono-rate-limiter',
  '@nest-lab/throttler-storage-redis',
  '@upstash/ratelimit',
  'limiter',
]

/** Which versions of whom are measured, and through which clients: all of them are pinned. */
export function peerVersions() {
  const { devDependencies } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  const named = (name) => `${name} ${devDependencies[name]}`
  return `Through ${named('ioredis')} and node-${named('redis')}; peers: ${PEERS.map(named).join(', ')}.`
}
