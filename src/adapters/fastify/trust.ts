import type { FastifyRequest } from 'fastify'
import type { ProxyTrust } from '../middleware/request-accessor.ts'

/** Resolves which proxies Fastify trusts about `X-Forwarded-For`, by a request that has this header. */
export function resolveFastifyTrust({ ips, server }: Pick<FastifyRequest, 'ips' | 'server'>): ProxyTrust {
  if (ips === undefined) return 'none'
  const setting = readTrustProxy(server)
  // Fastify 5 trusts no proxy when `trustProxy` is a number.
  if (typeof setting === 'number' && ips.length === 1) return 'none'
  return setting === true ? 'all' : 'some'
}

// The setting is not in `initialConfig`. It is a property of the instance that all others inherit from.
function readTrustProxy(server: object): unknown {
  const symbols: symbol[] = []
  for (let at = server; at !== null; at = Object.getPrototypeOf(at)) symbols.push(...Object.getOwnPropertySymbols(at))
  const options = symbols.find(({ description }) => description === 'fastify.options')
  return options && (server as Record<symbol, { readonly trustProxy?: unknown }>)[options]?.trustProxy
}
