import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { inject } from 'vitest'
import { endWithUs } from './end-with-us.ts'
import { freePort } from './free-port.ts'
import type { ServerBinary } from './server-binary.ts'

/** How to start a server. */
export interface StartOptions {
  /** @default the one that the global setup found */
  readonly server?: ServerBinary
  /** Asked again when the port turns out to be taken. @default a free port */
  readonly pickPort?: () => Promise<number>
  /** More arguments, such as `['--maxmemory', '2mb']`; they win over ours. @default none */
  readonly args?: readonly string[]
  /** The text of a configuration file, which the server may rewrite: Sentinel does not start without. @default none */
  readonly config?: string
}

/** A server that answers, on loopback only, without data and without a file to keep any. */
export interface RunningServer {
  readonly host: '127.0.0.1'
  readonly port: number
  readonly pid: number
  /** Its own: its log is there, and the files that it writes. */
  readonly folder: string
  /** Ends it at once and removes its folder. May be called again. */
  stop(): Promise<void>
}

/** Starts a server and resolves when it answers. Throws with the server's own log when it ends first. */
export async function startServer(options: StartOptions = {}): Promise<RunningServer> {
  const { server = inject('redisServer'), pickPort = freePort } = options
  for (let attempt = 1; ; attempt++) {
    try {
      return await launch(server, await pickPort(), options)
    } catch (error) {
      if (attempt === MOST_PORTS || !`${error}`.includes('Address already in use')) throw error
    }
  }
}

async function launch(server: ServerBinary, port: number, options: StartOptions): Promise<RunningServer> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-redis-'))
  const child = await spawnServer(server, port, folder, options)
  const stop = async () => {
    const ended = hasEnded(child) || once(child, 'exit')
    child.kill('SIGKILL')
    await ended
    await rm(folder, { recursive: true, force: true })
  }
  if (await answersInTime(child, port)) return { host: HOST, port, pid: child.pid as number, folder, stop }
  const how = hasEnded(child) ? 'ended before it answered' : `did not answer within ${LONGEST_START_MS} ms`
  const log = await readFile(join(folder, LOG), 'utf8')
  await stop()
  throw new Error(`${server.path} ${how} on port ${port}, its log:\n${log}`)
}

async function spawnServer(server: ServerBinary, port: number, folder: string, { args = [], config }: StartOptions) {
  const file = join(folder, 'server.conf')
  if (config !== undefined) await writeFile(file, config)
  const log = await open(join(folder, LOG), 'w')
  const own = ['--bind', HOST, '--port', `${port}`, '--dir', folder, '--save', '', '--appendonly', 'no']
  const child = spawn(server.path, [...(config === undefined ? [] : [file]), ...own, ...args], {
    env: { ...process.env, ...server.env },
    stdio: ['ignore', log.fd, log.fd],
  })
  // Before anything is awaited: a server that ends at once must still call its guard off.
  if (child.pid !== undefined) endWithUs(child, folder)
  try {
    // Rejects when the program cannot be run at all.
    await once(child, 'spawn')
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  } finally {
    await log.close()
  }
  return child
}

async function answersInTime(child: ChildProcess, port: number): Promise<boolean> {
  const deadlineMs = performance.now() + LONGEST_START_MS
  while (!hasEnded(child) && performance.now() < deadlineMs) {
    if (await answers(port, child.pid as number)) return true
    await delay(POLL_MS)
  }
  return false
}

/** Whether our server answers: in a race for the port it may be another's, so it is asked who it is. */
function answers(port: number, pid: number): Promise<boolean> {
  return new Promise((resolve) => {
    let reply = ''
    const isOurs = () => reply.startsWith('+PONG') && reply.includes(`\r\nprocess_id:${pid}\r\n`)
    const socket = connect(port, HOST, () => socket.write('PING\r\nINFO server\r\nQUIT\r\n'))
    socket.setTimeout(LONGEST_REPLY_MS, () => socket.destroy())
    socket.on('data', (data) => {
      reply += data
      // A Sentinel knows no QUIT and would leave us waiting.
      if (isOurs()) socket.destroy()
    })
    socket.on('error', () => socket.destroy())
    socket.on('close', () => resolve(isOurs()))
  })
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

const HOST = '127.0.0.1'
const LOG = 'server.log'
const MOST_PORTS = 5
const LONGEST_START_MS = 10_000
const LONGEST_REPLY_MS = 1_000
const POLL_MS = 10
