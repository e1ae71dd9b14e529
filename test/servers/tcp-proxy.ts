import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { freeClusterPort } from './free-port.ts'
import { type Line, startLine, type Weather } from './tcp-proxy-line.ts'

/** A network that misbehaves on demand, between a client and a server on loopback. */
export interface TcpProxy {
  readonly host: '127.0.0.1'
  readonly port: number
  /** From now on each direction takes this many milliseconds longer; nothing overtakes. 0 ends it. */
  delay(ms: number): void
  /** Takes connections and bytes, and keeps everything to itself. */
  freeze(): void
  /** Hands on what was kept, in order, and goes on as before. */
  thaw(): void
  /** Loses every byte and every close, on connections that stay open: to either side the other has gone silent. */
  drop(): void
  /** The same for the connections that are open now, for good. New ones pass. */
  dropOpen(): void
  /** Closes all connections to the clients now. New ones pass again. */
  cut(): void
  /**
   * Lets a client's next bytes through to the server and then closes that client's connection, before any reply passes. Does so
   * `times` times, once by default, and only for bytes that contain `text`, in any case, where that is given.
   */
  cutAfterSend(times?: number, text?: string): void
  /** How many times it has cut after sending. */
  readonly cuts: number
  /** Listens no more: who connects is refused. Connections that are open stay. */
  refuse(): Promise<void>
  /** Listens again, on the same port. */
  accept(): Promise<void>
  /** Ends it with all its connections. May be called again. */
  stop(): Promise<void>
}

/** Starts a proxy in front of a loopback port, where no server has to listen yet. */
export async function startProxy(targetPort: number): Promise<TcpProxy> {
  const port = await freeClusterPort()
  const lines = new Set<Line>()
  const weather: Weather = { delayMs: 0, frozen: false, dropping: false, cutsLeft: 0, cutText: '', cuts: 0 }
  let server: Server | undefined

  const take = (client: Socket): void => {
    lines.add(startLine(client, connect(targetPort, HOST), weather))
  }
  const accept = async (): Promise<void> => {
    if (server !== undefined) return
    server = createServer({ allowHalfOpen: true }, take).listen(port, HOST)
    await once(server, 'listening')
  }
  const refuse = async (): Promise<void> => {
    // Not waited for: a server counts as closed only when its last connection is.
    server?.close()
    server = undefined
  }
  const cut = (): void => {
    weather.frozen = false
    weather.dropping = false
    for (const line of lines) line.destroy()
    lines.clear()
  }
  await accept()
  return {
    host: HOST,
    port,
    delay: (ms) => {
      weather.delayMs = ms
    },
    freeze: () => {
      weather.frozen = true
    },
    thaw: () => {
      weather.frozen = false
      for (const line of lines) line.handOn()
    },
    drop: () => {
      weather.dropping = true
    },
    dropOpen: () => {
      for (const line of lines) line.lose()
    },
    cut,
    cutAfterSend: (times = 1, text = '') => {
      weather.cutsLeft = times
      weather.cutText = text
    },
    get cuts() {
      return weather.cuts
    },
    refuse,
    accept,
    stop: async () => {
      await refuse()
      cut()
    },
  }
}

const HOST = '127.0.0.1'
