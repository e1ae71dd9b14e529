// A server that reads a body and answers with constants, as long as a decision: what HTTP alone costs.
import { createServer } from 'node:http'

const ONE = `${JSON.stringify({
  allowed: true,
  limit: 1_000_000_000,
  remaining: 999_999_999,
  retryAfterMs: 0,
  resetAfterMs: 3_600_000,
  delayMs: 0,
  reason: null,
  limitedBy: null,
  wouldRefuse: [],
  decidedBy: 'memory',
  tiers: {},
})}\n`
const MANY = `${JSON.stringify({ decisions: Array(100).fill(JSON.parse(ONE)) })}\n`

const LIMIT = {
  'cache-control': 'no-store',
  'RateLimit-Policy': '"api";q=1000;w=3600',
  RateLimit: '"api";r=999;t=3600',
}

const server = createServer((request, response) => {
  if (request.method === 'GET') {
    response.writeHead(200, { ...LIMIT, 'content-length': 0 }).end()
    return
  }
  let bytes = 0
  request.on('data', (chunk) => {
    bytes += chunk.length
  })
  request.on('end', () => {
    const body = bytes < 1_000 ? ONE : MANY
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }).end(body)
  })
})
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
process.once('disconnect', () => process.exit())
