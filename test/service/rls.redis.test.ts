import * as grpc from '@grpc/grpc-js'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { connectRedis } from '../../src/cli/redis/redis-url.ts'
import { readRlsConfig } from '../../src/service/rls/read-rls-config.ts'
import { startRlsServer } from '../../src/service/rls/rls-server.ts'
import { RlsService } from '../../src/service/rls/rls-service.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { type Topology, useTopologies } from '../redis-clients/topologies.ts'
import type { SharedServers } from '../servers/shared-servers.ts'
import { composeDescriptor, openRlsClient, summarize } from './rls-client.ts'

let servers: SharedServers
beforeAll(async () => {
  servers = await useTopologies()
})

const formatUrl = (topology: Topology): string => {
  const { single, cluster } = servers
  if (topology === 'single') return `redis://${single.host}:${single.port}`
  return `redis-cluster://${cluster.primaries.map(({ host, port }) => `${host}:${port}`).join()}`
}

const configure = (domain: string) => `domain: ${domain}
descriptors:
  - { key: user, rate_limit: { unit: year, requests_per_unit: 100, rule: token-bucket } }
  - { key: page, rate_limit: { unit: year, requests_per_unit: 60, rule: sliding-log } }
`

/** A service of its own on Redis. It ends with the test. */
async function serveRls(topology: Topology, domain: string) {
  const redis = await connectRedis(formatUrl(topology))
  const config = readRlsConfig(configure(domain), 'envoy.yaml')
  // Redis decides everything, however slow the machine is.
  const service = new RlsService([config], { store: redisStore(redis.client), timeoutMs: 3_600_000 })
  const server = await startRlsServer({ grpc, service, address: '127.0.0.1:0', onError: () => {} })
  onTestFinished(async () => {
    await server.close(1_000)
    await service.close()
    await redis.close()
  })
  return openRlsClient(`127.0.0.1:${server.port}`)
}

describe.each<Topology>(['single', 'cluster'])("Envoy's rate limit service on Redis: %s", (topology) => {
  it('two instances share their counts exactly, and a request that one limit refuses takes nothing of the other', async () => {
    const domain = `exact-${topology}`
    const [one, other] = [await serveRls(topology, domain), await serveRls(topology, domain)]
    const both = [{ user: 'ann' }, { page: 'home' }] as const
    const answers = await Promise.all(
      Array.from({ length: 150 }, (_, index) => (index % 2 === 0 ? one : other).ask(domain, ...both)),
    )
    expect(answers.filter(({ overall_code }) => overall_code === 'OK')).toHaveLength(60)
    const look = composeDescriptor({ user: 'ann' })
    expect(summarize(await one.send({ domain, descriptors: [look], hits_addend: 40 }))).toEqual(['OK', 'OK 0'])
    expect(summarize(await other.ask(domain, { user: 'ann' }))).toEqual(['OVER_LIMIT', 'OVER_LIMIT 0'])
  })

  it('decides two values of one limit, and a limit that the request brings, at once', async () => {
    const domain = `brought-${topology}`
    const client = await serveRls(topology, domain)
    expect(summarize(await client.ask(domain, { page: 'a' }, { page: 'b' }))).toEqual(['OK', 'OK 59', 'OK 59'])
    const brought = { ...composeDescriptor({ user: 'ann' }), limit: { requests_per_unit: 1, unit: 'YEAR' } }
    const request = { domain, descriptors: [brought, composeDescriptor({ page: 'a' })] }
    expect(summarize(await client.send(request))).toEqual(['OK', 'OK 0', 'OK 58'])
    expect(summarize(await client.send(request))).toEqual(['OVER_LIMIT', 'OVER_LIMIT 0', 'OK 58'])
    expect(summarize(await client.ask(domain, { page: 'a' }))).toEqual(['OK', 'OK 57'])
  })
})
