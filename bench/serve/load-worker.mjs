// Asks a service as fast as it answers, over some connections with one request at a time each, and says how long it took.
import { once } from 'node:events'
import { connect } from 'node:net'

const HOST = '127.0.0.1'
const CALLERS = 1_000
/** More than anybody answers in a round. */
const MOST_TIMES = 2_000_000

process.on('message', async ({ port, token, route, batch, connections, seconds }) => {
  const times = new Float64Array(MOST_TIMES)
  let count = 0
  let isOver = false
  const requests = Array.from({ length: CALLERS }, (_, caller) => {
    return route === 'check' ? checkOf(caller, token) : consumeOf(caller, batch, token)
  })
  const lines = Array.from({ length: connections }, (_, index) => {
    return openLine(port, (done) => requests[(index * 61 + done) % CALLERS], {
      isOver: () => isOver,
      took: (ms) => {
        times[count++] = ms
      },
    })
  })
  await Promise.all(lines.map(({ opened }) => opened))
  const startedMs = performance.now()
  const timer = setTimeout(() => {
    isOver = true
  }, seconds * 1_000)
  await Promise.all(lines.map(({ run }) => run()))
  clearTimeout(timer)
  const sorted = times.subarray(0, count).sort()
  const at = (share) => sorted[Math.min(count - 1, Math.floor(count * share))]
  const perSecond = (count / (performance.now() - startedMs)) * 1_000
  process.send({ count, perSecond, p50Ms: at(0.5), p99Ms: at(0.99) })
})
process.once('disconnect', () => process.exit())

function checkOf(caller, token) {
  const lines = ['GET /v1/check/api HTTP/1.1', `Host: ${HOST}`, `Authorization: Bearer ${token}`]
  return Buffer.from(`${lines.join('\r\n')}\r\nX-Sluice-Key: user:${caller}\r\n\r\n`)
}

function consumeOf(caller, batch, token) {
  const one = (index) => ({ policy: 'api', key: `user:${(caller + index) % CALLERS}` })
  const said = batch === 1 ? one(0) : { requests: Array.from({ length: batch }, (_, index) => one(index)) }
  const body = JSON.stringify(said)
  const head = ['POST /v1/consume HTTP/1.1', `Host: ${HOST}`, `Authorization: Bearer ${token}`]
  const lines = [...head, 'Content-Type: application/json', `Content-Length: ${body.length}`]
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`)
}

/** One connection: sends a request whenever the one before has been answered, until it is over. */
function openLine(port, requestFor, { isOver, took }) {
  const socket = connect({ port, host: HOST, noDelay: true })
  let answer = ''
  let sentMs = 0
  let done = 0
  const send = () => {
    sentMs = performance.now()
    socket.write(requestFor(done++))
  }
  const run = () =>
    new Promise((resolve, reject) => {
      socket.on('error', reject)
      socket.on('data', (chunk) => {
        answer += chunk.latin1Slice()
        if (!isWhole(answer)) return
        if (!answer.startsWith('HTTP/1.1 200 ') || answer.includes('"allowed":false')) {
          reject(new Error(`the service answered ${answer.slice(0, 500)}`))
          return
        }
        answer = ''
        took(performance.now() - sentMs)
        if (!isOver()) send()
        else {
          socket.destroy()
          resolve()
        }
      })
      send()
    })
  return { opened: once(socket, 'connect'), run }
}

function isWhole(answer) {
  const end = answer.indexOf('\r\n\r\n')
  if (end === -1) return false
  const [, length] = /\r\ncontent-length: (\d+)/i.exec(answer)
  return answer.length >= end + 4 + Number(length)
}
