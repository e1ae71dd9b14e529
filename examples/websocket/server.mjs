// WebSockets with the plain limiter: a limit of connections for each address, and of messages for each user. See README.md.
import { createServer, STATUS_CODES } from 'node:http'
import { Redis } from 'ioredis'
import { concurrency, createLimiter, slidingWindow } from 'sluice'
import { addressKey, composeRefusal, PROBLEM_JSON } from 'sluice/http'
import { redisStore } from 'sluice/redis'
import { WebSocketServer } from 'ws'

const { PORT = 8080, REDIS_URL } = process.env

// A request that may have counted is not sent again: nothing must count twice.
const redis = REDIS_URL ? new Redis(REDIS_URL) : undefined
redis?.on('error', (error) => console.error(error.message))
const store = redis && redisStore(redis)

const connections = createLimiter({
  name: 'connections',
  tiers: {
    atOnce: concurrency({ limit: 3, lease: '30s' }),
    opened: slidingWindow({ limit: 20, window: '1m' }),
  },
  store,
})
const messages = createLimiter({
  name: 'messages',
  rule: slidingWindow({ limit: 5, window: '10s' }),
  store,
})
// How many refusals a client may get before it is disconnected.
const patience = createLimiter({
  name: 'patience',
  rule: slidingWindow({ limit: 10, window: '1m' }),
  store,
})

const server = createServer((_request, response) => {
  response.writeHead(426, { 'content-type': 'text/plain', upgrade: 'websocket' }).end('This is a WebSocket server.\n')
})
const sockets = new WebSocketServer({ noServer: true, maxPayload: 16 * 1024, closeTimeout: 2_000 })
const leases = new Set()

server.on('upgrade', (request, socket, head) => {
  socket.on('error', () => socket.destroy())
  admit(request, socket, head).catch((error) => {
    console.error(error.message)
    answer(socket, 503, { title: 'Service Unavailable' })
  })
})

async function admit(request, socket, head) {
  // The address first: who it is may be costly to find out. Behind a proxy, clientAddress() of sluice/http finds it.
  const address = addressKey(socket.remoteAddress ?? '')
  if (address === undefined) return socket.destroy()
  const lease = await connections.acquire(address)
  if (!lease.allowed) {
    const { status, retryAfterSeconds, problem } = composeRefusal(lease.decision)
    return answer(socket, status, problem, [`Retry-After: ${retryAfterSeconds}`])
  }
  // The socket below reports every end, also of one before or during the handshake.
  const leave = () => {
    leases.delete(lease)
    lease.release().catch((error) => console.error(error.message)) // after 30 s the permit is free in any case
  }
  leases.add(lease)
  if (socket.destroyed) return leave()
  socket.once('close', leave)
  // A name is taken at its word here. In your server it comes from what has checked it: a cookie, a ticket.
  const user = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1]
  sockets.handleUpgrade(request, socket, head, (client) => {
    serve(client, user === undefined ? address : { kind: 'user', name: user })
  })
}

function serve(client, sender) {
  let undecided = 0
  client.on('error', () => {}) // too long a message, or a broken one: ws closes the connection
  client.on('message', async (data) => {
    if (client.readyState !== client.OPEN) return
    // A client that sends faster than the store answers would fill our memory.
    if (++undecided > 100) return client.close(1008, 'too many messages')
    try {
      await receive(client, sender, `${data}`)
    } catch (error) {
      console.error(error.message)
      client.close(1011, 'messages cannot be counted')
    } finally {
      undecided--
    }
  })
}

async function receive(client, sender, text) {
  const { allowed, remaining, retryAfterMs } = await messages.consume(sender)
  if (allowed) return send(client, { type: 'echo', text, remaining })
  // An answer, not the end of the connection: a client that can wait need not connect again.
  send(client, { type: 'refused', retryAfterMs })
  if (!(await patience.consume(sender)).allowed) client.close(1008, 'too many messages')
}

const send = (client, message) => client.send(JSON.stringify(message))

/** Answers instead of a handshake. Scripts in browsers only see that it failed, other clients see all of it. */
function answer(socket, status, problem, headers = []) {
  const body = JSON.stringify(problem)
  const about = [`Content-Type: ${PROBLEM_JSON}`, `Content-Length: ${Buffer.byteLength(body)}`, 'Connection: close']
  socket.end([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...headers, ...about, '', body].join('\r\n'))
}

server.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}`)
})
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    server.close(async () => {
      for (const lease of leases) await lease.release()
      for (const limiter of [connections, messages, patience]) await limiter.close()
      redis?.disconnect()
    })
    server.closeAllConnections()
    for (const client of sockets.clients) client.close(1001, 'the server ends')
  })
}
