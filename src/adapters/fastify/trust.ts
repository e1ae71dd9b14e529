import type { FastifyRequest } from 'fastify'

/** Whom Fastify believes about `X-Forwarded-For`, asked with a request that has it. */
export function trustOf({ ips, server }: Pick<FastifyRequest, 'ips' | 'server'>): 'nobody' | 'some' | 'everybody' {
  if (ips === undefined) return 'nobody'
  const setting = trustProxyOf(server)
  // Fastify 5 believes nobody when it is told a number of proxies.
  if (typeof setting === 'number' && ips.length === 1) return 'nobody'
  return setting === true ? 'everybody' : 'some'
}

// The setting is not among those that `initialConfig` tells. It stands on the instance that all others descend from.
function trustProxyOf(server: object): unknown {
  const symbols: symbol[] = []
  for (let at = server; at !== null; at = Object.getPrototypeOf(at)) symbols.push(...Object.getOwnPropertySymbols(at))
  const options = symbols.find(({ description }) => description === 'fastify.options')
  return options && (server as Record<symbol, { readonly trustProxy?: unknown }>)[options]?.trustProxy
}
