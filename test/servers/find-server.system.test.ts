import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fakeProgram } from './fake-program.ts'
import { findServer } from './find-server.ts'
import type { ServerBinary } from './server-binary.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-find-'))
})
afterEach(() => rm(folder, { recursive: true }))

describe('a server named by SLUICE_REDIS_SERVER', () => {
  it('is used before one on the PATH', async () => {
    const named = await program('named', 'exit 0')
    await program('bin/redis-server', 'exit 0')
    expect(await find(named)).toEqual({ path: named, env: {} })
  })

  it('is an error when it does not exist, even with another one on the PATH', async () => {
    await program('bin/redis-server', 'exit 0')
    expect(await failure('/no/such/server')).toBe(
      'SLUICE_REDIS_SERVER must be the path of a server that runs, got "/no/such/server": --version failed with ENOENT',
    )
  })

  it('is an error when it is empty', async () => {
    await program('bin/redis-server', 'exit 0')
    expect(await failure('')).toBe(
      'SLUICE_REDIS_SERVER must be the path of a server that runs, got "": --version failed with EACCES',
    )
  })

  it.each([
    ['may not be executed', 'exit 0', 0o644, '--version failed with EACCES'],
    // What a program says that was built for a newer C library.
    ['ends with an error', 'echo "GLIBC_2.99 not found" >&2; exit 1', 0o755, '--version exited with 1'],
    ['is ended by a signal', 'kill -9 $$', 0o755, '--version was ended by SIGKILL'],
  ])('is an error when it %s', async (_, body, mode, why) => {
    const named = await program('named', body, mode)
    expect(await failure(named)).toBe(
      `SLUICE_REDIS_SERVER must be the path of a server that runs, got "${named}": ${why}`,
    )
  })

  it('is asked for its version only', async () => {
    const named = await program('named', '[ "$*" = --version ]')
    expect(await find(named)).toEqual({ path: named, env: {} })
  })
})

describe('a server that is not named', () => {
  it('is redis-server, wherever on the PATH, before valkey-server', async () => {
    await program('bin/valkey-server', 'exit 0')
    const redis = await program('bin2/redis-server', 'exit 0')
    expect(await find()).toEqual({ path: redis, env: {} })
  })

  it('is valkey-server on the PATH before a cached one', async () => {
    const valkey = await program('bin2/valkey-server', 'exit 0')
    await program('cache/usr/bin/redis-server', 'exit 0')
    expect(await find()).toEqual({ path: valkey, env: {} })
  })

  it('is the next one when the first does not run', async () => {
    await program('bin/redis-server', 'exit 1')
    const redis = await program('bin2/redis-server', 'exit 0')
    expect(await find()).toEqual({ path: redis, env: {} })
  })

  it('is the cached one, run with the libraries beside it, when none is on the PATH', async () => {
    await program('bin/redis-server', 'exit 1')
    const libraries = dirname(await program('cache/usr/lib/some-machine/liblzf.so.1', ''))
    const cached = await program('cache/usr/bin/redis-server', `[ "$LD_LIBRARY_PATH" = "${libraries}" ]`)
    expect(await find()).toEqual({ path: cached, env: { LD_LIBRARY_PATH: libraries } })
  })

  it('is an error that says what to do when nothing runs and there is no apt-get', async () => {
    await program('cache/usr/bin/redis-server', 'exit 1')
    expect(await failure()).toBe(
      'no redis-server found, and without apt-get none can be fetched: ' +
        'run "brew install redis", or set SLUICE_REDIS_SERVER to the path of a server',
    )
  })

  it('is an error that names the step when apt-get fails, without what apt-get says about its servers', async () => {
    await program('bin/apt-get', '[ "$1" = --version ] || { echo "could not reach a host" >&2; exit 100; }')
    expect(await failure()).toBe(
      'could not fetch redis-server, "apt-get update" ended with 100: ' +
        'install one, or set SLUICE_REDIS_SERVER to the path of a server',
    )
  })
})

function find(named?: string): Promise<ServerBinary> {
  const env: NodeJS.ProcessEnv = { PATH: `${join(folder, 'bin')}:${join(folder, 'bin2')}` }
  if (named !== undefined) env.SLUICE_REDIS_SERVER = named
  return findServer(env, join(folder, 'cache'))
}

function failure(named?: string): Promise<string> {
  return find(named).then(
    () => 'none',
    (error: Error) => error.message,
  )
}

function program(name: string, body: string, mode?: number): Promise<string> {
  return fakeProgram(join(folder, name), body, mode)
}
