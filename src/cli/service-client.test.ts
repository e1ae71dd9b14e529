import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { serviceClient } from './service-client.ts'

it('a service that takes the request and says nothing is given up in time', async () => {
  const server = createServer(() => {}).listen(0, '127.0.0.1')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const service = serviceClient(at, undefined, new AbortController().signal, 50)
  await expect(service.get('/v1/live')).rejects.toThrow(`no service answers at ${at}: no answer within 50 ms`)
})
