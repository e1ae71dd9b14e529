import { beforeAll, expect, it, vi } from 'vitest'
import { writePolicies } from '../cli/policy-file.ts'
import { remoteStore } from '../remote-store.ts'
import { useServer } from '../servers/shared-servers.ts'
import { served } from './served.ts'
import { serving } from './service-stage.ts'

let server: Awaited<ReturnType<typeof useServer>>
beforeAll(async () => {
  server = await useServer()
})

const YAML = `policies:
  hot: { rule: sliding-window, limit: 1000000, window: 1m, prefetch: { maxTime: 10s }, timeout: 1h }
  messages:
    tiers:
      user: { rule: fixed-window, limit: 1000, window: 1h }
      all: { rule: token-bucket, capacity: 100000, refill: 100000, period: 1m, prefetch: { maxTime: 10s } }
    timeout: 1h
`

interface KeyAnswer {
  readonly grants: readonly { limit: string; count: number; units: number; endsAfterMs: number }[]
}

it('a service prefetches as its file says, counts the calls that it saves, and shows what is out of a key', async () => {
  const { host, port } = server
  const policies = await writePolicies(YAML)
  const { post, get, url } = await served(['--policies', policies, '--redis', `redis://${host}:${port}`])
  const hot = { policy: 'hot', key: 'tenant:7' }
  const show = async (question: object): Promise<KeyAnswer['grants']> => {
    const { body } = await post('/v1/key', question)
    return (body as unknown as KeyAnswer).grants
  }
  expect(await show(hot)).toEqual([{ limit: 'hot', count: 0, units: 0, endsAfterMs: 0 }])
  const decisions: { decidedBy: string; allowed: boolean }[] = []
  for (let batch = 0; batch < 4; batch++) {
    const { body } = await post('/v1/consume', { requests: Array(50).fill(hot) })
    decisions.push(...(body.decisions as typeof decisions))
  }
  expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(200)
  const saved = decisions.filter(({ decidedBy }) => decidedBy === 'prefetch').length
  expect(saved).toBeGreaterThan(0)
  const metrics = await (await fetch(`${url}/metrics`)).text()
  expect(metrics).toContain(`limiter="hot",outcome="allowed",decided_by="prefetch"} ${saved}\n`)
  expect(metrics).toContain('sluice_prefetch_late_total{limiter="messages",tier="all"} 0\n')
  expect(metrics).not.toMatch(/sluice_prefetch_\w+\{limiter="messages",tier="user"/)

  const [out] = await show(hot)
  expect(out).toMatchObject({ limit: 'hot', count: 1 })
  expect(out?.units).toBeGreaterThan(0)
  expect(out?.endsAfterMs).toBeGreaterThan(0)
  expect(out?.endsAfterMs).toBeLessThan(60_000)

  const both = { policy: 'messages', key: { user: '42', all: 'all' } }
  await post('/v1/consume', { requests: Array(50).fill(both) })
  expect(await show(both)).toMatchObject([{ limit: 'all', count: 1 }])
  expect(await show({ policy: 'messages', key: { user: '42' } })).toEqual([])

  const { policies: shown } = (await get('/v1/live')).body as { policies: { tiers: { isPrefetched: boolean }[] }[] }
  expect(shown.map(({ tiers }) => tiers.map(({ isPrefetched }) => isPrefetched))).toEqual([[true], [false, true]])
})

it('a service with the memory of its process takes the same file, and has nothing out', async () => {
  const { post, get } = await served(['--policies', await writePolicies(YAML)])
  const hot = { policy: 'hot', key: 'tenant:7' }
  const { body } = await post('/v1/consume', { requests: Array(100).fill(hot) })
  for (const { decidedBy } of body.decisions as { decidedBy: string }[]) expect(decidedBy).toBe('memory')
  expect((await post('/v1/key', hot)).body.grants).toEqual([])
  const { policies } = (await get('/v1/policies')).body as { policies: { tiers: { isPrefetched: boolean }[] }[] }
  expect(policies.flatMap(({ tiers }) => tiers.map(({ isPrefetched }) => isPrefetched))).toEqual([false, false, false])
})

const HOT = 'policies:\n  hot: { rule: fixed-window, limit: 9, window: 1m, prefetch: true }\n'

it('a service whose store does not say what is out says so, and reports why', async () => {
  const errors: unknown[] = []
  const denied = new Error('NOPERM')
  const { post } = await serving({
    yaml: HOT,
    store: remoteStore(),
    readGrants: () => Promise.reject(denied),
    onError: (error) => errors.push(error),
  })
  expect((await post('/v1/key', { policy: 'hot', key: 'a' })).body).toMatchObject({
    decision: { allowed: true },
    grants: null,
  })
  expect(errors).toEqual([denied])
})

it('a service that has lost its store does not ask it what is out', async () => {
  const store = remoteStore()
  store.behaviour = 'fails'
  const readGrants = vi.fn()
  const { post } = await serving({ yaml: HOT, store, readGrants })
  const { body } = await post('/v1/key', { policy: 'hot', key: 'a' })
  expect(body).toMatchObject({ decision: { decidedBy: 'fallback' }, grants: null })
  expect(readGrants).not.toHaveBeenCalled()
})

it('a service that cannot look into its store shows nothing', async () => {
  const { post } = await serving({ yaml: HOT, store: remoteStore() })
  expect((await post('/v1/key', { policy: 'hot', key: 'a' })).body.grants).toEqual([])
})
