import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { fakeProgram } from './fake-program.ts'
import { findServer } from './find-server.ts'
import type { ServerBinary } from './server-binary.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-engine-'))
})
afterEach(async () => {
  vi.restoreAllMocks()
  await rm(folder, { recursive: true })
})

describe('a server of the engine that SLUICE_ENGINE names', () => {
  it('is the one on the PATH, even after other engines', async () => {
    await program('bin/redis-server', 'exit 0')
    const valkey = await program('bin2/valkey-server', 'exit 0')
    expect(await find('valkey')).toEqual({ path: valkey, env: {} })
  })

  it('is passed over on the PATH and in the cache when its major version is another', async () => {
    await program('bin/redis-server', 'echo "Redis server v=7.0.15 sha=0"')
    await program('cache/usr/bin/redis-server', 'echo "Redis server v=80.0.1 sha=0"')
    const newer = await program('bin2/redis-server', 'echo "Redis server v=8.0.2 sha=0"')
    expect(await find('redis8')).toEqual({ path: newer, env: {} })
    await rm(newer)
    expect(await failure('redis8')).toBe(
      'no redis-server found, and without apt-get none can be fetched: ' +
        'run "brew install redis", or set SLUICE_REDIS_SERVER to the path of a server',
    )
  })

  it('is fetched from its suite, from where the machine gets its own packages, and runs with its own loader', async () => {
    await program('bin/apt-get', fakeApt('http://mirror.invalid/debian/'))
    await program('bin/dpkg', FAKE_DPKG)
    const said = vi.spyOn(console, 'info').mockReturnValue()
    const fetched = { path: join(folder, 'cache/valkey-server'), env: {} }
    expect(await find('valkey9')).toEqual(fetched)
    expect(said.mock.calls).toEqual([['fetching valkey-server and what it needs, 2 packages, into .cache, once']])
    expect(await readFile(join(folder, 'sources'), 'utf8')).toBe(
      'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://mirror.invalid/debian/ forky main\n',
    )
    expect(await readFile(join(folder, 'downloaded'), 'utf8')).toMatch(/^download libc6 valkey-server -qq /)
    await rm(join(folder, 'bin'), { recursive: true })
    expect(await find('valkey9')).toEqual(fetched)
  })

  it('is an error when what was fetched is another version', async () => {
    await program('bin/apt-get', fakeApt('http://mirror.invalid/debian/'))
    vi.spyOn(console, 'info').mockReturnValue()
    await program('bin/dpkg', FAKE_DPKG.replace('v=9', 'v=10'))
    expect(await failure('valkey9')).toBe(
      'the fetched valkey-server does not run here, or is not version 9: ' +
        'install one, or set SLUICE_REDIS_SERVER to the path of a server',
    )
  })

  it('is an error on a machine that gets no packages from Debian', async () => {
    await program('bin/apt-get', fakeApt(''))
    expect(await failure('valkey')).toBe(
      'could not fetch valkey-server, this machine gets no packages from Debian, whose suite trixie has it',
    )
  })
})

it('is an error when SLUICE_ENGINE names no engine', async () => {
  expect(await failure('mysql')).toBe('SLUICE_ENGINE must be one of valkey, valkey9, redis8, got "mysql"')
})

it('is an error when SLUICE_ENGINE and SLUICE_REDIS_SERVER are both set', async () => {
  const named = await program('named', 'exit 0')
  expect(await failure('valkey', { SLUICE_REDIS_SERVER: named })).toBe(
    'SLUICE_REDIS_SERVER and SLUICE_ENGINE both name a server: set one of them',
  )
})

// The machine's own lists name the address; what is asked for later is seen through the list of sources alone.
const fakeApt = (address: string) => `
PATH=/usr/bin:/bin
case "$*" in
  indextargets*) echo "${address}" ;;
  update*sources.list*) cat sources.list > "${folder}/sources" ;;
  install*sources.list*status=*) echo "Inst libc6 (2)"; echo "Inst valkey-server (9)" ;;
  install*) exit 100 ;;
  download*) touch all.deb; echo "$*" > "${folder}/downloaded" ;;
esac`

// The loader gets the folders of libraries and the program to run.
const FAKE_DPKG = `
PATH=/usr/bin:/bin
mkdir -p "$3/usr/bin" "$3/usr/lib/some-machine"
touch "$3/usr/lib/some-machine/libc.so.6"
echo 'echo "Valkey server v=9.1.2"' > "$3/usr/bin/valkey-server"
echo '#!/bin/sh
[ "$1 $2" = "--library-path $(dirname "$0")" ] && exec /bin/sh "$3" "$4"' > "$3/usr/lib/some-machine/ld-some.so.2"
chmod +x "$3/usr/lib/some-machine/ld-some.so.2"`

function find(engine: string, more: NodeJS.ProcessEnv = {}): Promise<ServerBinary> {
  const searchPath = `${join(folder, 'bin')}:${join(folder, 'bin2')}`
  return findServer({ PATH: searchPath, SLUICE_ENGINE: engine, ...more }, join(folder, 'cache'))
}

function failure(engine: string, more?: NodeJS.ProcessEnv): Promise<string> {
  return find(engine, more).then(
    () => 'none',
    (error: Error) => error.message,
  )
}

function program(name: string, body: string): Promise<string> {
  return fakeProgram(join(folder, name), body)
}
