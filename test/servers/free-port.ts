import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

/** A loopback port that is free now; another process may take it before it is used. */
export async function freePort(): Promise<number> {
  const port = await listenOnce(0)
  if (port === undefined) throw new Error('no loopback port is free')
  return port
}

/**
 * A loopback port that is free now together with the one 10,000 above it, where a cluster's nodes talk to each other.
 * Both lie below the ports that systems hand out, so no connection takes one of them in between.
 */
export async function freeClusterPort(): Promise<number> {
  for (let attempt = 1; attempt <= MOST_TRIES; attempt++) {
    const port = FIRST_CLUSTER_PORT + Math.floor(Math.random() * CLUSTER_PORTS)
    if ((await listenOnce(port)) && (await listenOnce(port + BUS_OFFSET))) return port
  }
  throw new Error(`no free pair of loopback ports in ${MOST_TRIES} tries`)
}

/** The port when it could be listened on, `undefined` when it is taken. */
async function listenOnce(wanted: number): Promise<number | undefined> {
  const probe = createServer().listen(wanted, '127.0.0.1')
  try {
    await once(probe, 'listening')
  } catch {
    return undefined
  }
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}

const FIRST_CLUSTER_PORT = 11_000
const CLUSTER_PORTS = 11_000
const BUS_OFFSET = 10_000
const MOST_TRIES = 100
