import { expect, it } from 'vitest'
import { remoteStore } from '../remote-store.ts'
import { rawConnection } from './raw-connection.ts'
import { serving, TOKEN } from './service-stage.ts'

const yaml = 'policies: { api: { rule: fixed-window, limit: 10, window: 1m, timeout: 1h } }'
const asked = { policy: 'api', key: 'a' }

it('a service that ends answers what it was asked, takes no further connection, and is not ready meanwhile', async () => {
  const store = remoteStore()
  const stage = await serving({ yaml, store })
  const { service, post, get } = stage
  const waiting = await rawConnection(stage)
  waiting.socket.write('GET /readyz HTTP/1.1\r\nHost: localhost\r\n')
  store.behaviour = 'silent'
  const underWay = post('/v1/consume', asked)
  await expect.poll(() => store.asked).toBe(1)

  const closed = service.close()
  await expect(get('/healthz')).rejects.toThrow()
  waiting.socket.write('\r\n')
  await expect.poll(waiting.said).toContain('{"status":"closing"}')
  expect(waiting.said()).toContain('HTTP/1.1 503 ')
  expect(waiting.said()).toContain('connection: close')

  store.speak()
  expect(await underWay).toMatchObject({ status: 200, body: { allowed: true, decidedBy: 'redis' } })
  await closed
})

it('a service that ends answers what comes on a kept-alive connection, and closes that one', async () => {
  const stage = await serving()
  const kept = await rawConnection(stage)
  const unused = await rawConnection(stage)
  const ask = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'
  kept.socket.write(ask)
  await expect.poll(kept.said).toContain('{"status":"alive"}')
  expect(kept.said()).not.toContain('connection: close')
  const closed = stage.service.close()
  for (const { socket, said, ended } of [kept, unused]) {
    socket.write(ask)
    await ended
    expect(said()).toMatch(/connection: close\r\n[^{]*\{"status":"alive"\}\n$/i)
  }
  await closed
})

it('a service that ends does not wait for idle connections', async () => {
  const stage = await serving()
  expect((await stage.get('/healthz')).status).toBe(200)
  const idle = await rawConnection(stage)
  await stage.service.close(60_000)
  await idle.ended
})

it('a service that ends waits for slow clients, and no longer than it says', async () => {
  const stage = await serving()
  const slow = await rawConnection(stage)
  const head = ['POST /v1/consume HTTP/1.1', 'Host: localhost', `Authorization: Bearer ${TOKEN}`, 'Content-Length: 99']
  slow.socket.write(`${[...head, 'Content-Type: application/json'].join('\r\n')}\r\n\r\n{`)
  // The service has read the head when it has answered a later client.
  await stage.get('/healthz')
  await stage.service.close(50)
  await slow.ended
  expect(slow.said()).toBe('')
})

it('a service may end twice, and before it listens', async () => {
  const { service } = await serving()
  await service.close()
  await service.close()
})
