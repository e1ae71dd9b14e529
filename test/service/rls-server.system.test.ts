import * as grpc from '@grpc/grpc-js'
import { expect, it } from 'vitest'
import { readRlsConfig } from '../../src/service/rls/read-rls-config.ts'
import { startRlsServer } from '../../src/service/rls/rls-server.ts'
import { RlsService } from '../../src/service/rls/rls-service.ts'
import { remoteStore } from '../remote-store.ts'
import { openRlsClient, summarize } from './rls-client.ts'

const config = readRlsConfig(
  'domain: d\ndescriptors: [{ key: user, rate_limit: { unit: day, requests_per_unit: 10 } }]\n',
  'envoy.yaml',
)

async function start(timeoutMs: number) {
  const store = remoteStore()
  const service = new RlsService([config], { store, timeoutMs })
  const errors: unknown[] = []
  const onError = (error: unknown) => void errors.push(error)
  const server = await startRlsServer({ grpc, service, address: '127.0.0.1:0', onError })
  return { store, service, server, errors, client: openRlsClient(`127.0.0.1:${server.port}`) }
}

it('answers with an error without a reason where it cannot decide, and logs the reason', async () => {
  const { client, service, server, errors } = await start(500)
  await service.close()
  await expect(client.ask('d', { user: 'ann' })).rejects.toThrow('13 INTERNAL: the request could not be decided')
  expect(errors).toMatchObject([{ code: 'LIMITER_CLOSED' }])
  await server.close(1_000)
})

it('decides without a store that is silent, in time', async () => {
  const { client, store, server } = await start(20)
  store.behaviour = 'silent'
  expect(summarize(await client.ask('d', { user: 'ann' }))).toEqual(['OK', 'OK 9'])
  await server.close(1_000)
})

it('answers requests under way when it ends, and gives up those that take too long', async () => {
  const { client, store, server } = await start(3_600_000)
  store.behaviour = 'silent'
  const first = client.ask('d', { user: 'ann' })
  await expect.poll(() => store.asked).toBe(1)
  const ending = server.close(10_000)
  store.speak()
  expect(summarize(await first)).toEqual(['OK', 'OK 9'])
  await ending

  const other = await start(3_600_000)
  other.store.behaviour = 'silent'
  const lost = other.client.ask('d', { user: 'ann' })
  await expect.poll(() => other.store.asked).toBe(1)
  await Promise.all([other.server.close(20), expect(lost).rejects.toThrow(/UNAVAILABLE|CANCELLED|INTERNAL/)])
})

it('answers requests under way by the limits before when others come into force', async () => {
  const { service, store, server } = await start(3_600_000)
  store.behaviour = 'silent'
  const descriptor = { override: undefined, isNegativeHits: false }
  const look = { ...descriptor, entries: [{ key: 'user', value: 'ann' }], hitsAddend: 0 }
  const take = { ...descriptor, entries: [{ key: 'user', value: 'bob' }], hitsAddend: 4 }
  const underWay = service.decide({ domain: 'd', descriptors: [look, take], hitsAddend: 0 })
  await expect.poll(() => store.asked).toBe(1)
  service.replace([{ ...config, text: 'other' }])
  store.behaviour = 'answers'
  store.speak()
  expect((await underWay).statuses).toMatchObject([{ remaining: 10 }, { remaining: 6 }])
  await server.close(1_000)
})
