import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { nameOf } from './http-subjects.mjs'

/** How many connections there are, each with one request at a time; and how many requests a round measures. */
export const CONNECTIONS = 16
export const REQUESTS = 20_000
export const WARM_UP = 20_000

const SERVE = fileURLToPath(new URL('./http-serve.mjs', import.meta.url))
const HOST = '127.0.0.1'
const REQUEST = `GET / HTTP/1.1\r\nHost: ${HOST}\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n`

/**
 * The CPU time of a request, in microseconds, that the process itself takes and that the system takes for it: of a new process that
 * has answered enough of them to be compiled.
 */
export async function measure(subject) {
  const env = { ...process.env, NODE_ENV: 'production' }
  const server = fork(SERVE, [nameOf(subject)], { timeout: 120_000, env })
  try {
    const [{ port }] = await once(server, 'message')
    await load(port, WARM_UP, subject)
    const before = await cpuUs(server)
    await load(port, REQUESTS, subject)
    const after = await cpuUs(server)
    return { user: (after.user - before.user) / REQUESTS, system: (after.system - before.system) / REQUESTS }
  } finally {
    const ended = once(server, 'exit')
    if (server.connected) server.disconnect()
    await ended
  }
}

async function cpuUs(server) {
  server.send('cpu')
  const [usage] = await once(server, 'message')
  return usage
}

async function load(port, requests, subject) {
  let left = requests
  const isMore = () => left-- > 0
  await Promise.all(
    Array.from({ length: CONNECTIONS }, (_, index) => converse(port, addressOf(index), isMore, subject)),
  )
}

/** Every connection has an address of its own, where the system has more than one for itself. */
function addressOf(index) {
  return process.platform === 'linux' ? `127.0.0.${index + 1}` : HOST
}

/** Sends a request whenever the one before has been answered, as long as there are more. */
function converse(port, localAddress, isMore, subject) {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: HOST, localAddress, noDelay: true })
    let answer = ''
    const next = () => (isMore() ? socket.write(REQUEST) : socket.end())
    socket.once('connect', next)
    socket.on('data', (chunk) => {
      answer += chunk.latin1Slice()
      if (!isWhole(answer)) return
      if (!isExpected(answer, subject)) {
        socket.destroy(new Error(`${nameOf(subject)} answered ${answer}`))
        return
      }
      answer = ''
      next()
    })
    socket.once('error', reject)
    socket.once('close', resolve)
  })
}

function isWhole(answer) {
  const end = answer.indexOf('\r\n\r\n')
  if (end === -1) return false
  const [, length] = /\r\ncontent-length: (\d+)/i.exec(answer) ?? []
  return length === undefined ? answer.endsWith('\r\n0\r\n\r\n') : answer.length >= end + 4 + Number(length)
}

/** Whether it passed, and told its limit if it has one. */
function isExpected(answer, { limiter }) {
  return answer.startsWith('HTTP/1.1 200 ') && /\r\n(x-)?ratelimit/i.test(answer) === (limiter !== undefined)
}
