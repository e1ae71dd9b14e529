import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** Starts a proxy to a port of this machine that says whom it asks for, as every proxy can. Resolves with its URL; it ends with the test. */
export async function startProxy(port: number): Promise<string> {
  const server = createServer((incoming, outgoing) => {
    const headers = { ...incoming.headers, host: '127.0.0.1', 'x-forwarded-for': `${incoming.socket.remoteAddress}` }
    const { method, url: path } = incoming
    const passed = request({ port, host: '127.0.0.1', method, path, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode as number, answer.headers)
      answer.pipe(outgoing)
    })
    passed.on('error', () => outgoing.destroy())
    incoming.pipe(passed)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.close().closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
