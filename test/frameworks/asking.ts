import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { connect } from 'node:net'
import { parseList } from 'structured-headers'

/** One item of a list of structured fields: its name and its parameters. */
export interface Item {
  readonly name: unknown
  readonly parameters: Readonly<Record<string, unknown>>
}

/** A header that is a list, read by a parser that is not ours. */
export function listOf(response: Response, name: string): readonly Item[] {
  return parseList(response.headers.get(name) ?? '').map(([item, parameters]) => ({
    name: item,
    parameters: Object.fromEntries(parameters),
  }))
}

/** The statuses of this many requests at once, over one pool of kept connections. */
export async function burst(url: string, count: number, headers: Record<string, string> = {}): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 20 })
  const ask = (): Promise<number> =>
    new Promise((resolve, reject) => {
      get(url, { agent, headers }, (response) => {
        response.resume().once('end', () => resolve(response.statusCode as number))
      }).once('error', reject)
    })
  try {
    return await Promise.all(Array.from({ length: count }, ask))
  } finally {
    agent.destroy()
  }
}

/** The statuses of this many requests that arrive in one packet of one connection. */
export async function onePacket(url: string, count: number): Promise<number[]> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  const last = `GET / HTTP/1.1\r\nHost: ${hostname}\r\nConnection: close\r\n\r\n`
  socket.write(`GET / HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`.repeat(count - 1) + last)
  let text = ''
  socket.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
  })
  await once(socket, 'close')
  return [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))
}

/** How many of them are `status`. */
export function countOf(statuses: readonly number[], status: number): number {
  return statuses.filter((other) => other === status).length
}
