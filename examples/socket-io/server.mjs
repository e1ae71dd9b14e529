// Socket.IO with the plain limiter: a limit of connections for each address, and of events for each user. See README.md.
import { createServer } from 'node:http'
import { Redis } from 'ioredis'
import { concurrency, createLimiter, slidingWindow } from 'sluice'
import { addressKey } from 'sluice/http'
import { redisStore } from 'sluice/redis'
import { Server } from 'socket.io'

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
const events = createLimiter({ name: 'events', rule: slidingWindow({ limit: 5, window: '10s' }), store })
// How many refusals a client may get before it is disconnected.
const patience = createLimiter({
  name: 'patience',
  rule: slidingWindow({ limit: 10, window: '1m' }),
  store,
})

const server = createServer()
// A rejected client that stays silent is disconnected after 5 s.
const io = new Server(server, { maxHttpBufferSize: 16 * 1024, serveClient: false, connectTimeout: 5_000 })

io.use(async (socket, next) => {
  try {
    // Behind a proxy this is the proxy's address: clientAddress() of sluice/http finds the client's.
    const address = addressKey(socket.handshake.address ?? '')
    if (address === undefined) return next(new Error('no address'))
    const lease = await connections.acquire(address)
    if (!lease.allowed) return next(refusal('too many connections', lease.decision))
    keepPlace(socket.conn, lease)
    // A name is taken at its word here. In your server it comes from what has checked it: a cookie, a signed token.
    const { user } = socket.handshake.auth
    socket.data.sender = typeof user === 'string' && user !== '' ? { kind: 'user', name: user } : address
    next()
  } catch (error) {
    console.error(error.message)
    next(new Error('connections cannot be counted'))
  }
})

// The connection below reports every end, also of one before the socket was connected.
function keepPlace(connection, lease) {
  // Where that fails, the permit is free after 30 s.
  const leave = () => lease.release().catch((error) => console.error(error.message))
  if (connection.readyState === 'closed') leave()
  else connection.once('close', leave)
}

io.on('connection', (socket) => {
  socket.use(async ([event, ...values], next) => {
    const answer = values.at(-1)
    const tell = (body) => (typeof answer === 'function' ? answer(body) : socket.emit('refused', { event, ...body }))
    try {
      const decision = await events.consume(socket.data.sender)
      if (decision.allowed) return next()
      // An answer and no error: next(error) would only be heard on this side.
      tell({ error: 'too many events', retryAfterMs: decision.retryAfterMs })
      if (!(await patience.consume(socket.data.sender)).allowed) socket.disconnect(true)
    } catch (error) {
      console.error(error.message)
      tell({ error: 'events cannot be counted' })
    }
  })

  socket.on('say', (text, answer) => {
    if (typeof answer === 'function') answer({ text: `${text}` })
    else socket.emit('said', `${text}`)
  })
})

/** What a client finds in `connect_error`: its message, and the time to wait in `data`. */
function refusal(message, { retryAfterMs }) {
  return Object.assign(new Error(message), { data: { retryAfterMs } })
}

server.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}`)
})
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    await io.close() // ends all connections, which releases their permits
    for (const limiter of [connections, events, patience]) await limiter.close()
    await redis?.quit().catch(() => redis.disconnect())
  })
}
