// The CPU of `sluice serve` for a call of Envoy's rate limit service, beside GET /v1/check and POST /v1/consume.
//
// npm run build && node bench/serve-rls.mjs        prints the table, about a minute
// node bench/serve-rls.mjs --write                 and writes it to bench/results/serve-rls.md and docs/envoy.md
import { Agent, request } from 'node:http'
import * as grpc from '@grpc/grpc-js'
import { startServer } from './redis-server.mjs'
import { countedBy, load, markdownTable, printReport, spread, writePage, writeReport } from './report.mjs'
import { startServe, TOKEN } from './serve/subjects.mjs'

const ROUNDS = 11
const CALLS = 3_000
const IN_FLIGHT = 32
const CALLERS = 1_000
const PATH = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit'

const loadBefore = load()
const server = await startServer()
const services = []
for (const [store, args] of [
  ['memory', []],
  ['Redis', ['--redis', `redis://127.0.0.1:${server.port}`]],
]) {
  const config = new URL('./serve/envoy.yaml', import.meta.url).pathname
  services.push({ store, ...(await startServe([...args, '--rls', '127.0.0.1:0', '--rls-config', config])) })
}
const subjects = services.flatMap(({ store, port, lines, cpuUs }) => {
  const { address } = lines.find(({ event }) => event === 'rls-started')
  const client = new grpc.Client(address, grpc.credentials.createInsecure())
  return [
    { name: `GET /v1/check, ${store}`, cpuUs, call: checkOver(port) },
    { name: `POST /v1/consume, ${store}`, cpuUs, call: consumeOver(port) },
    { name: `ShouldRateLimit, one descriptor, ${store}`, cpuUs, call: askOver(client, ['user']) },
    { name: `ShouldRateLimit, two descriptors, ${store}`, cpuUs, call: askOver(client, ['user', 'page']) },
  ]
})
const results = new Map(subjects.map(({ name }) => [name, []]))
for (const { call } of subjects) await run(call)
for (let round = 1; round <= ROUNDS; round++) {
  for (const { name, cpuUs, call } of round % 2 === 1 ? subjects : subjects.toReversed()) {
    const before = await cpuUs()
    await run(call)
    results.get(name).push(((await cpuUs()) - before) / CALLS)
  }
}
const rows = subjects.map(({ name }) => [name, spread(results.get(name))])
const notes = `CPU is the time of the service's process, user and system; the client is another process. ${IN_FLIGHT} calls in flight, ${CALLERS} keys, nothing refused;
${ROUNDS} rounds of ${CALLS} calls each, in turns. The median of the rounds, and in brackets the least and the most. ${server.version} on the same machine.`
const title = "Envoy's rate limit service"
const command = 'node bench/serve-rls.mjs --write'
const body = `${markdownTable(['call', 'CPU µs'], rows)}\n\n${notes}`
const report = { title, command, loadBefore, body }
if (process.argv.includes('--write')) {
  writeReport('serve-rls', report)
  writePage('envoy', `${countedBy(command, loadBefore)}\n\n${body}`)
} else printReport(report)
for (const { stop } of services) await stop()
server.stop()
process.exit()

/** Makes all calls, some of them at once. */
async function run(call) {
  let next = 0
  const line = async () => {
    while (next < CALLS) await call(next++ % CALLERS)
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, line))
}

function checkOver(port) {
  const send = sendTo(port, { path: '/v1/check/api' })
  return (caller) => send({ 'x-sluice-key': `user:${caller}` })
}

function consumeOver(port) {
  const send = sendTo(port, { path: '/v1/consume', method: 'POST' })
  const headers = { 'content-type': 'application/json' }
  return (caller) => send(headers, JSON.stringify({ policy: 'api', key: `user:${caller}` }))
}

function sendTo(port, options) {
  const agent = new Agent({ keepAlive: true, maxSockets: IN_FLIGHT })
  const authorization = `Bearer ${TOKEN}`
  return (headers, body) =>
    new Promise((resolve, reject) => {
      const given = { ...options, port, host: '127.0.0.1', agent, headers: { ...headers, authorization } }
      const asked = request(given, (response) => {
        if (response.statusCode !== 200) reject(new Error(`the service answered ${response.statusCode}`))
        response.resume().on('end', resolve)
      })
      asked.on('error', reject).end(body)
    })
}

function askOver(client, keys) {
  const message = (field, bytes) => Buffer.from([field * 8 + 2, bytes.length, ...bytes])
  const entry = (key, value) => message(1, [...message(1, Buffer.from(key)), ...message(2, Buffer.from(value))])
  return (caller) => {
    const descriptors = keys.map((key) => message(2, entry(key, `user:${caller}`)))
    const bytes = Buffer.concat([message(1, Buffer.from('bench')), ...descriptors])
    return new Promise((resolve, reject) => {
      const same = (value) => value
      client.makeUnaryRequest(PATH, same, same, bytes, (error, answer) => {
        // 08 01 is overall_code OK.
        if (error === null && answer[1] === 1) resolve()
        else reject(error ?? new Error('the service refused a call'))
      })
    })
  }
}
