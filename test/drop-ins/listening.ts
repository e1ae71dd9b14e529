import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Site } from './drop-in-suite.ts'

/** The site of a server that listens on a port of its own. */
export async function listening(server: Server): Promise<Site> {
  if (!server.listening) await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(resolve)
        server.closeAllConnections()
      }),
  }
}
