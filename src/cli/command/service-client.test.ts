import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { createServiceClient } from './service-client.ts'

async function serving(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

it.each<[string, RequestListener]>([
  ['says nothing', () => {}],
  ['stops in the middle', (_, response) => response.writeHead(200, { 'content-length': 100 }).write('{')],
])('a service that takes the request and %s is given up in time', async (_, answer) => {
  const at = await serving(answer)
  const service = createServiceClient(at, undefined, new AbortController().signal, 50)
  await expect(service.get('/v1/live')).rejects.toThrow(`no service answers at ${at}: no answer within 50 ms`)
})

it('ends without waiting for an answer', async () => {
  const at = await serving(() => ending.abort(new Error('enough')))
  const ending = new AbortController()
  const service = createServiceClient(at, undefined, ending.signal)
  await expect(service.get('/v1/live')).rejects.toThrow(`no service answers at ${at}: enough`)
  await expect(service.get('/v1/live')).rejects.toThrow(`no service answers at ${at}: enough`)
})
