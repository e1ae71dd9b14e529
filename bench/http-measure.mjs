import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { bareOf, nameOf } from './http-subjects.mjs'

/** How many connections each server has, each with one request at a time. */
export const CONNECTIONS = 16
/** How many requests go to one server before the other one has its turn, and to each of them before anything is measured. */
export const BLOCK = 200
export const WARM_UP = 16_000
/** How long the servers take turns. */
export const SECONDS = 8

const SERVE = fileURLToPath(new URL('./http-serve.mjs', import.meta.url))
const HOST = '127.0.0.1'
const REQUEST = `GET / HTTP/1.1\r\nHost: ${HOST}\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n`

/**
 * Pairs of CPU times of a request, in microseconds: with no limiter, and with the one that is measured. Both servers are in one new
 * process, and take turns every few milliseconds: whatever else the machine does, it does to both.
 */
export async function measure(subject) {
  const env = { ...process.env, NODE_ENV: 'production' }
  const server = fork(SERVE, [nameOf(subject)], { timeout: 120_000, env })
  try {
    const [ports] = await once(server, 'message')
    const bare = await converse(ports.bare, bareOf(subject))
    const measured = await converse(ports.measured, subject)
    for (let sent = 0; sent < WARM_UP; sent += BLOCK) for (const ask of [bare, measured]) await ask(BLOCK)
    return await takeTurns(server, bare, measured)
  } finally {
    const ended = once(server, 'exit')
    if (server.connected) server.disconnect()
    await ended
  }
}

async function takeTurns(server, bare, measured) {
  const pairs = []
  const until = performance.now() + SECONDS * 1_000
  while (performance.now() < until) {
    const pair = {}
    const turns = [
      ['bare', bare],
      ['measured', measured],
    ]
    // Every other time backwards: what one leaves behind, such as garbage, must not always fall to the same.
    for (const [name, ask] of pairs.length % 2 === 0 ? turns : turns.reverse()) {
      const beforeUs = await cpuUs(server)
      await ask(BLOCK)
      pair[name] = ((await cpuUs(server)) - beforeUs) / BLOCK
    }
    pairs.push(pair)
  }
  return pairs
}

// All of it: the system tells its own part from the process's by samples only.
async function cpuUs(server) {
  server.send('cpu')
  const [{ user, system }] = await once(server, 'message')
  return user + system
}

/** Opens the connections to a server. The answer is a function that sends so many requests, and resolves when all are answered. */
async function converse(port, subject) {
  let left = 0
  const lines = Array.from({ length: CONNECTIONS }, (_, index) => openLine(port, addressOf(index), subject))
  await Promise.all(lines.map(({ opened }) => opened))
  return (requests) => {
    left = requests
    return Promise.all(lines.map((line) => line.ask(() => left-- > 0)))
  }
}

/** Every connection has an address of its own, where the system has more than one for itself. */
function addressOf(index) {
  return process.platform === 'linux' ? `127.0.0.${index + 1}` : HOST
}

/** One connection: sends a request whenever the one before has been answered, as long as there are more. */
function openLine(port, localAddress, subject) {
  const socket = connect({ port, host: HOST, localAddress, noDelay: true })
  let answer = ''
  let next
  socket.on('data', (chunk) => {
    answer += chunk.latin1Slice()
    if (!isWhole(answer)) return
    if (!isExpected(answer, subject)) throw new Error(`${nameOf(subject)} answered ${answer}`)
    answer = ''
    next()
  })
  const ask = (isMore) =>
    new Promise((resolve) => {
      next = () => (isMore() ? socket.write(REQUEST) : resolve())
      next()
    })
  return { opened: once(socket, 'connect'), ask }
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
