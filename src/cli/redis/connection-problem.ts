import { once } from 'node:events'
import { connect } from 'node:net'
import type { HostAndPort } from './redis-address.ts'

/** Why none of the hosts takes a connection, in plain words; `undefined` when one of them does. */
export async function findConnectionProblem(
  hosts: readonly HostAndPort[],
  withinMs: number,
): Promise<string | undefined> {
  const reasons = await Promise.all(hosts.map((host) => findHostProblem(host, withinMs)))
  return reasons.includes(undefined) ? undefined : [...new Set(reasons)].join(', ')
}

async function findHostProblem({ host, port }: HostAndPort, withinMs: number): Promise<string | undefined> {
  const socket = connect({ host, port })
  // An error after the time limit is of no use, and must not end the process.
  socket.on('error', () => {})
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(withinMs) })
    return undefined
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    return WORDS.get(`${code}`) ?? message
  } finally {
    socket.destroy()
  }
}

const WORDS: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'connection refused'],
  ['ENOTFOUND', 'unknown host'],
  ['EAI_AGAIN', 'the host name cannot be resolved now'],
  ['ABORT_ERR', 'connection timed out'],
  ['ETIMEDOUT', 'connection timed out'],
  ['EHOSTUNREACH', 'no route to the host'],
  ['ENETUNREACH', 'no route to the network'],
])
