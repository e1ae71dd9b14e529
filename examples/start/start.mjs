// What `npm start` runs: a small HTTP server behind a real limiter, on the embedded store.
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { createLimiter, duration, slidingWindow } from 'sluice'

const limiter = createLimiter({ name: 'demo', rule: slidingWindow({ limit: 10, windowMs: duration('10s') }) })
limiter.on('refused', ({ key, decision }) => {
  console.log(`refused ${key.name}: next request passes in ${decision.retryAfterMs} ms`)
})
const page = await readFile(new URL('page.html', import.meta.url))

const server = createServer(async (request, response) => {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost')
  const client = { kind: 'ip', name: request.socket.remoteAddress ?? 'unknown' }
  if (request.method === 'GET' && pathname === '/') {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page)
  } else if (request.method === 'POST' && pathname === '/request') {
    const decision = await limiter.consume(client)
    const headers = { 'content-type': 'application/json' }
    if (!decision.allowed) headers['retry-after'] = Math.ceil(decision.retryAfterMs / 1000)
    response.writeHead(decision.allowed ? 200 : 429, headers).end(`${JSON.stringify(decision)}\n`)
  } else if (request.method === 'GET' && pathname === '/standing') {
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(`${JSON.stringify(await limiter.peek(client))}\n`)
  } else {
    response.writeHead(404, { 'content-type': 'text/plain' }).end('Try GET /, POST /request or GET /standing\n')
  }
})

// A port that is taken is no reason to fail: the system has others.
server.once('error', (error) => {
  if (error.code !== 'EADDRINUSE' || process.env.PORT) throw error
  server.listen(0, '127.0.0.1')
})
server.once('listening', () => {
  const url = `http://127.0.0.1:${server.address().port}`
  console.log(`Sluice lets each address pass 10 times in 10 seconds. Watch it decide:

  in a browser    ${url}
  in a terminal   for i in $(seq 12); do curl -s -X POST ${url}/request; done

Ctrl-C ends it.`)
})
server.listen(Number(process.env.PORT ?? 8080), '127.0.0.1')

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    server.close()
    server.closeAllConnections()
    await limiter.close()
  })
}
