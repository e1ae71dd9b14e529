import { expect, it } from 'vitest'
import { readPolicies } from '../../src/policies/read-policies.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { serving } from './service-stage.ts'

it('counts decisions and answers for monitoring systems, and goes on when policies change', async () => {
  const { service, post, get } = await serving({ clock: manualClock(0) })
  await post('/v1/consume', { policy: 'api', key: 'a', cost: 10 })
  await post('/v1/consume', { policy: 'api', key: 'a' })
  service.reload(readPolicies('policies: { api: { rule: fixed-window, limit: 20, window: 1m } }', 'policies.yaml'))
  await post('/v1/consume', { policy: 'api', key: 'a' })
  await post('/v1/consume', { policy: 'gone', key: 'a' })
  await get('/made-up-by-a-client')
  const { status, headers, body } = await get('/metrics')
  expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
  const lines = (body as string).split('\n')
  expect(lines.filter((line) => line.startsWith('sluice_decisions_total'))).toEqual([
    expect.stringMatching(/limiter="api".*outcome="allowed".* 2$/),
    expect.stringMatching(/limiter="api".*outcome="refused".* 1$/),
  ])
  expect(lines).toContain('sluice_http_requests_total{route="/v1/consume",status="200"} 3')
  expect(lines).toContain('sluice_http_requests_total{route="/v1/consume",status="404"} 1')
  expect(lines).toContain('sluice_http_requests_total{route="other",status="404"} 1')
  expect(body).not.toContain('made-up')
})
