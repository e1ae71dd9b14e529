// A server of Bun's or Deno's own on a free port, which it prints. Both adapters count by the address that the runtime tells.
import { Hono } from 'hono'
import { createLimiter, fixedWindow } from 'sluice'
import { getDecision, rateLimit } from 'sluice/fetch'
import { rateLimit as honoRateLimit } from 'sluice/hono'

const { Bun, Deno } = globalThis
const daily = (name) => createLimiter({ name, rule: fixedWindow({ limit: 2, window: '1d' }) })

const address =
  Bun === undefined ? (_, info) => info.remoteAddr.hostname : (request, server) => server.requestIP(request)?.address
const limited = rateLimit({ limiter: daily('fetch'), address })((request) => {
  return new Response(`${getDecision(request).remaining} left`)
})

const app = new Hono()
app.use(honoRateLimit({ limiter: daily('hono') }))
app.get('/hono', (context) => context.text(`${context.get('rateLimit').remaining} left`))

const answer = (request, connection) => {
  return new URL(request.url).pathname === '/hono' ? app.fetch(request, connection) : limited(request, connection)
}
const hostname = '127.0.0.1'
if (Bun === undefined) Deno.serve({ hostname, port: 0, onListen: ({ port }) => console.log(port) }, answer)
else console.log(Bun.serve({ hostname, port: 0, fetch: answer }).port)
