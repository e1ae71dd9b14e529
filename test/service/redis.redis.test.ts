import { beforeAll, describe, expect, it } from 'vitest'
import { writePolicies } from '../cli/policy-file.ts'
import { type Topology, useTopologies } from '../redis-clients/topologies.ts'
import type { SharedServers } from '../servers/shared-servers.ts'
import { startProxy } from '../servers/tcp-proxy.ts'
import { served } from './served.ts'

let servers: SharedServers
beforeAll(async () => {
  servers = await useTopologies()
})

// Redis makes every decision, however slow the machine is.
const POLICIES = `policies:
  api: { rule: fixed-window, limit: 1000, window: 1d, timeout: 1h }
  messages:
    tiers:
      user: { rule: fixed-window, limit: 100, window: 1d }
      ip: { rule: token-bucket, capacity: 500, refill: 1, period: 1d }
    timeout: 1h
`

const formatUrl = (topology: Topology): string => {
  const { single, sentinel, cluster } = servers
  const list = (nodes: readonly { host: string; port: number }[]) =>
    nodes.map(({ host, port }) => `${host}:${port}`).join()
  if (topology === 'single') return `redis://${list([single])}`
  if (topology === 'cluster') return `redis-cluster://${list(cluster.primaries)}`
  return `redis-sentinel://${list(sentinel.sentinels)}/${sentinel.masterName}`
}

describe.each<Topology>(['single', 'sentinel', 'cluster'])('on Redis: %s', (topology) => {
  it('two instances share their counts exactly, one by one and in batches', async () => {
    const args = ['--policies', await writePolicies(POLICIES), '--redis', formatUrl(topology)]
    const [one, other] = [await served(args), await served(args)]
    const request = { policy: 'api', key: `${topology}:exact` }
    const singles = Array.from({ length: 200 }, (_, index) =>
      (index % 2 === 0 ? one : other).post('/v1/consume', request),
    )
    const batches = Array.from({ length: 12 }, (_, index) => {
      return (index % 2 === 0 ? one : other).post('/v1/consume', { requests: Array(100).fill(request) })
    })
    const answers = await Promise.all([...singles, ...batches])
    const decisions = answers.flatMap(
      ({ body }) => (body.decisions ?? [body]) as { allowed: boolean; decidedBy: string }[],
    )
    expect(decisions).toHaveLength(1_400)
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(1_000)
    for (const { decidedBy } of decisions) expect(decidedBy).toMatch(/^(redis|denial-cache)$/)
  })

  it('a hold of one instance is settled by another, and tiers decide together', async () => {
    const args = ['--policies', await writePolicies(POLICIES), '--redis', formatUrl(topology)]
    const [one, other] = [await served(args), await served(args)]
    const key = { user: `${topology}:42`, ip: '203.0.113.7' }
    const reserved = await one.post('/v1/reserve', { policy: 'messages', key, estimate: { user: 60, ip: 1 } })
    expect(reserved.body).toMatchObject({ decision: { allowed: true, remaining: 40, decidedBy: 'redis' } })
    const settled = await other.post('/v1/settle', { reservation: reserved.body.reservation, used: { user: 10 } })
    expect(settled.body).toMatchObject({ allowed: true, tiers: { user: { remaining: 90 } } })
  })

  it('is ready, and says where Redis is without a password', async () => {
    const { get, stop } = await served(['--policies', await writePolicies(POLICIES), '--redis', formatUrl(topology)])
    expect((await get('/readyz')).status).toBe(200)
    const { body } = await get('/v1/live')
    expect(body.store).toMatchObject({ kind: 'redis', place: expect.stringContaining('127.0.0.1:'), state: 'healthy' })
    expect(await stop()).toBe(0)
  })
})

describe('when Redis does not answer', () => {
  const yaml = `policies:
  shared: { rule: fixed-window, limit: 10, window: 1d, timeout: 200ms, instances: 2 }
  open: { rule: fixed-window, limit: 10, window: 1d, timeout: 200ms, onStoreFailure: allow }
  strict: { rule: fixed-window, limit: 10, window: 1d, timeout: 200ms, onStoreFailure: refuse }
  loud: { rule: fixed-window, limit: 10, window: 1d, timeout: 200ms, onStoreFailure: throw }
`

  it('each policy does as it says, it is not ready, and recovers without a restart', async () => {
    const proxy = await startProxy(servers.single.port)
    const service = await served([
      '--policies',
      await writePolicies(yaml),
      '--redis',
      `redis://127.0.0.1:${proxy.port}`,
    ])
    const ask = (policy: string) => service.post('/v1/consume', { policy, key: 'away' })
    await expect.poll(async () => (await service.get('/readyz')).status, { timeout: 10_000 }).toBe(200)
    await proxy.refuse()
    proxy.cut()
    await expect.poll(async () => (await service.get('/readyz')).status, { timeout: 10_000 }).toBe(503)
    expect((await ask('shared')).body).toMatchObject({ allowed: true, limit: 5, decidedBy: 'fallback' })
    expect((await ask('open')).body).toMatchObject({ allowed: true, decidedBy: 'fallback' })
    expect((await ask('strict')).body).toMatchObject({ allowed: false, reason: 'store-unavailable' })
    expect(await ask('loud')).toMatchObject({ status: 503, body: { error: { code: 'STORE_FAILED' } } })
    await expect
      .poll(async () => (await ask('open')).status && service.lines().some(({ event }) => event === 'degraded'), {
        timeout: 10_000,
      })
      .toBe(true)
    await proxy.accept()
    await service.tells('recovered')
    await expect.poll(async () => (await service.get('/readyz')).status, { timeout: 10_000 }).toBe(200)
    expect(service.lines().filter(({ event }) => event === 'degraded')).toHaveLength(1)
    expect(await service.stop()).toBe(0)
    await proxy.stop()
  })

  it('it starts all the same, and decides without', async () => {
    const proxy = await startProxy(servers.single.port)
    await proxy.refuse()
    const service = await served([
      '--policies',
      await writePolicies(yaml),
      '--redis',
      `redis://127.0.0.1:${proxy.port}`,
    ])
    expect((await service.get('/readyz')).status).toBe(503)
    expect((await service.post('/v1/consume', { policy: 'shared', key: 'start' })).body).toMatchObject({
      allowed: true,
    })
    expect(await service.stop()).toBe(0)
    await proxy.stop()
  })
})
