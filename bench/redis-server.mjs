import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'

/**
 * Starts a server of its own on a free loopback port, without a file to keep anything, and connects to it. `stop` ends both, and so
 * does the end of this process. `port` and `pid` are for other processes.
 */
export async function startServer() {
  const { path, env } = findServer()
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  const args = ['--bind', HOST, '--port', `${port}`, '--dir', folder, '--save', '', '--appendonly', 'no']
  const server = spawn(path, args, { env, stdio: 'ignore' })
  const redis = new Redis(port, HOST, { retryStrategy: () => 20, maxRetriesPerRequest: null })
  // Until the server listens, nobody answers.
  redis.on('error', () => {})
  const stop = () => {
    redis.disconnect()
    server.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
  process.once('exit', stop)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1))
  try {
    const info = await Promise.race([redis.info('server'), endOf(server)])
    if (info.includes(`process_id:${server.pid}\r\n`))
      return { redis, port, pid: server.pid, version: nameOf(info), stop }
    throw new Error('another server has taken the port: run it again')
  } catch (error) {
    stop()
    throw error
  }
}

async function endOf(server) {
  await once(server, 'exit')
  throw new Error('the server has ended')
}

function nameOf(info) {
  const [, valkey] = /^valkey_version:(\S+)/m.exec(info) ?? []
  return valkey ? `Valkey ${valkey}` : `Redis ${/^redis_version:(\S+)/m.exec(info)[1]}`
}

function findServer() {
  const named = process.env.SLUICE_REDIS_SERVER
  if (named !== undefined) return { path: resolve(named), env: process.env }
  const folders = (process.env.PATH ?? '').split(delimiter)
  const onPath = ['redis-server', 'valkey-server'].flatMap((name) => folders.map((folder) => join(folder, name)))
  const candidates = [...onPath.map((path) => ({ path, env: process.env })), cachedServer()]
  const found = candidates.find(({ path, env }) => existsSync(path) && runs(path, env))
  if (found !== undefined) return found
  throw new Error('no Redis server found: run "npm test" once, or set SLUICE_REDIS_SERVER to the path of a server')
}

/** The one that the tests fetch. Where its libraries are depends on the processor. */
function cachedServer() {
  const folder = fileURLToPath(new URL('../.cache/redis/', import.meta.url))
  const files = existsSync(folder) ? readdirSync(folder, { recursive: true }) : []
  const libraries = files.filter((file) => /\.so(\.|$)/.test(file)).map((file) => join(folder, dirname(file)))
  const env = { ...process.env, LD_LIBRARY_PATH: [...new Set(libraries)].join(delimiter) }
  return { path: join(folder, 'usr/bin/redis-server'), env }
}

function runs(path, env) {
  try {
    return execFileSync(path, ['--version'], { env, stdio: 'pipe', timeout: 10_000 }).length > 0
  } catch {
    return false
  }
}

async function freePort() {
  const probe = createServer().listen(0, HOST)
  await once(probe, 'listening')
  const { port } = probe.address()
  probe.close()
  await once(probe, 'close')
  return port
}

const HOST = '127.0.0.1'
