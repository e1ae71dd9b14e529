import { renameSync, writeFileSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fetchPackages, hasApt } from './fetch-packages.ts'
import type { ServerBinary } from './server-binary.ts'
import { startServer } from './start-server.ts'

/** A wall clock that can be set, and a server to start with it. */
export interface ServerClock {
  /** The server by this clock. Its timers go by true time. */
  readonly binary: ServerBinary
  /** Sets the clock this many seconds ahead of the true time, or behind it. */
  step(seconds: number): Promise<void>
  /** Stops the clock at a time. Done when this returns: the server reads the clock anew for every command. */
  stopAt(nowMs: number): void
  /** Removes what the clock is read from. */
  stop(): Promise<void>
}

/**
 * A clock by libfaketime, which is fetched once as the servers are. `undefined` where it cannot be had: it comes as a package of Debian
 * and Ubuntu, and a server that brings its own C library may not start with it.
 */
export async function serverClock(
  server: ServerBinary,
  env: NodeJS.ProcessEnv = process.env,
): Promise<ServerClock | undefined> {
  const library = (await cachedLibrary()) ?? (await fetchLibrary(env))
  if (library === undefined) return undefined
  const folder = await mkdtemp(join(tmpdir(), 'sluice-clock-'))
  const file = join(folder, 'offset')
  const write = (time: string): void => {
    // Swapped, because the server reads it all the time.
    writeFileSync(`${file}.next`, `${time}\n`)
    renameSync(`${file}.next`, file)
  }
  const step = async (seconds: number): Promise<void> => write(`${seconds < 0 ? '' : '+'}${seconds}`)
  const stop = () => rm(folder, { recursive: true, force: true })
  await step(0)
  const binary = { path: server.path, env: { ...server.env, ...settings(library, file) } }
  if (!(await starts(binary))) {
    await stop()
    return undefined
  }
  return {
    binary,
    step,
    // In the middle of the millisecond: the library cuts off what is beyond its precision.
    stopAt: (nowMs) => write(`${Math.floor(nowMs / 1_000)}.${`${nowMs % 1_000}`.padStart(3, '0')}5`),
    stop,
  }
}

/** Only a start tells: a server may print its version and crash as it makes its first Lua state. */
async function starts(server: ServerBinary): Promise<boolean> {
  try {
    await (await startServer({ server })).stop()
    return true
  } catch {
    return false
  }
}

function settings(library: string, file: string) {
  return {
    // The C library comes before the server's own allocator, whose start reads the clock and would never end.
    LD_PRELOAD: `${library} libc.so.6`,
    FAKETIME_TIMESTAMP_FILE: file,
    // Seconds since 1970, which the library reads as a local time.
    FAKETIME_FMT: '%s',
    TZ: 'UTC',
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  }
}

async function cachedLibrary(): Promise<string | undefined> {
  const files = await readdir(CACHE, { recursive: true }).catch(() => [])
  const library = files.find((file) => file.endsWith('/libfaketime.so.1'))
  return library === undefined ? undefined : join(CACHE, library)
}

async function fetchLibrary(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  if (!(await hasApt(env))) return undefined
  const engine = { program: 'libfaketime' }
  const isUsable = async () => (await cachedLibrary()) !== undefined
  try {
    await fetchPackages(env, CACHE, { engine, wayOut: 'servers keep the true time', isUsable })
  } catch (error) {
    console.warn(`${error}`)
  }
  return cachedLibrary()
}

const CACHE = fileURLToPath(new URL('../../.cache/faketime', import.meta.url))
