import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** A connection to a service on which every byte is ours. */
export interface RawConnection {
  readonly socket: Socket
  /** What came back so far. */
  said(): string
  /** Resolves when it is closed, in whatever way. */
  readonly ended: Promise<void>
}

/** Connects to a port of loopback. One that stays is not closed because the other side is. */
export async function rawConnection(
  { port }: { readonly port: number },
  { stays = false }: { readonly stays?: boolean } = {},
): Promise<RawConnection> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: stays })
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
  })
  await once(socket, 'connect')
  // A service that closes while we send resets the connection.
  socket.on('error', () => {})
  const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  return { socket, said: () => text, ended }
}
