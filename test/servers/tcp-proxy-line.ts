import type { Socket } from 'node:net'

/** What happens to all connections of a proxy now. */
export interface Weather {
  delayMs: number
  frozen: boolean
  dropping: boolean
  /** How often a connection is still to be closed after its bytes were sent, if they contain the text; and how often it was. */
  cutsLeft: number
  cutText: string
  cuts: number
}

/** One client's connection through a proxy, with the one to the server behind it. */
export interface Line {
  /** Delivers what was kept and is due. */
  handOn(): void
  /** From now on loses everything. */
  lose(): void
  destroy(): void
}

/** Passes on what the two say, as the weather lets it. */
export function startLine(client: Socket, server: Socket, weather: Weather): Line {
  const toServer = startWay(client, server, weather)
  const toClient = startWay(server, client, weather)
  client.on('data', (bytes) => {
    const isCut = weather.cutsLeft > 0 && !weather.frozen && contains(bytes, weather.cutText)
    if (!isCut) return toServer.send(bytes)
    weather.cutsLeft--
    weather.cuts++
    toClient.close()
    // Closed in order, so that the server reads the bytes before it sees the end.
    server.end(bytes)
    client.destroy()
  })
  server.on('data', (bytes) => toClient.send(bytes))
  return {
    handOn: () => {
      toServer.handOn()
      toClient.handOn()
    },
    lose: () => {
      toServer.close()
      toClient.close()
    },
    destroy: () => {
      client.destroy()
      server.destroy()
    },
  }
}

function contains(bytes: Buffer, text: string): boolean {
  return bytes.toString('latin1').toLowerCase().includes(text.toLowerCase())
}

/** One direction: bytes, and then the end, in the order in which they came. `null` stands for the end. */
function startWay(from: Socket, to: Socket, weather: Weather) {
  const kept: { bytes: Buffer | null; dueMs: number }[] = []
  let isClosed = false
  const handOn = (): void => {
    while (kept[0] !== undefined && !weather.frozen && kept[0].dueMs <= performance.now()) {
      const { bytes } = kept.shift() as (typeof kept)[0]
      if (bytes === null) to.destroySoon()
      else if (!to.destroyed && !isClosed) to.write(bytes)
    }
  }
  const send = (bytes: Buffer | null): void => {
    if (weather.dropping || isClosed) return
    kept.push({ bytes, dueMs: performance.now() + weather.delayMs })
    if (weather.delayMs === 0 && kept.length === 1) handOn()
    // A timer may ring a little early.
    else setTimeout(handOn, weather.delayMs + 1)
  }
  from.once('end', () => send(null))
  // After a reset there is no end; after an end the close says nothing new.
  from.once('error', () => send(null))
  return {
    send,
    handOn,
    close: (): void => {
      isClosed = true
    },
  }
}
