// Stands for Next.js and for the proxy in front of it, as far as the routes in app/ need them. See README.md.
import { createServer } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import * as me from './app/me/route.js'
import * as home from './app/route.js'
import { closeLimits } from './limits.mjs'

const routes = { '/': home, '/me': me }

const server = createServer(async (incoming, outgoing) => {
  const response = await answer(incoming, outgoing).catch((error) => {
    console.error(error)
    return new Response('it is not you, it is us', { status: 500 })
  })
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  // Who hangs up in the middle ends the pipeline, which is no mistake.
  if (response.body !== null) await pipeline(Readable.fromWeb(response.body), outgoing).catch(() => {})
  else outgoing.end()
})

async function answer(incoming, outgoing) {
  const url = new URL(incoming.url, 'http://127.0.0.1')
  const handler = routes[url.pathname]?.[incoming.method]
  if (handler === undefined) return new Response('no such address', { status: 404 })
  const headers = new Headers(incoming.headers)
  // As a proxy does it: it adds the address of its client to the end of the header.
  headers.append('x-forwarded-for', incoming.socket.remoteAddress)
  const gone = new AbortController()
  outgoing.once('close', () => gone.abort())
  return handler(new Request(url, { headers, signal: gone.signal }), { params: Promise.resolve({}) })
}

server.listen(Number(process.env.PORT ?? 8080), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}`)
})
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    server.close(closeLimits)
    server.closeAllConnections()
  })
}
