import { once } from 'node:events'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { run } from '../../src/cli/program.ts'
import { listenOn } from '../../src/cli/serve/listen.ts'
import { serve } from '../../src/cli/serve/serve.ts'
import { writePolicies } from '../cli/policy-file.ts'
import { recordingTerminal } from '../recording-terminal.ts'
import { waitUntil } from '../servers/wait-until.ts'
import { served } from './served.ts'
import { serving } from './service-stage.ts'

const readLimit = (limit: number) => `policies: { api: { rule: fixed-window, limit: ${limit}, window: 1d } }\n`
const TOKEN = 'correct-horse-battery-staple'

/** Runs a command line that is wrong or cannot succeed. */
const failing = async (args: readonly string[], env: Record<string, string> = {}) => {
  const terminal = recordingTerminal({ env })
  const code = await run(['serve', ...args], terminal)
  return { code, said: terminal.text(), complained: terminal.errors() }
}

describe('sluice serve', () => {
  it('tells people where it is, what it decides by and how to ask it', async () => {
    const ending = new AbortController()
    const terminal = recordingTerminal({ signal: ending.signal })
    const file = await writePolicies(
      "policies:\n  it's: { tiers: { user: { rule: fixed-window, limit: 5, window: 1m, shadow: true, prefetch: true }, ip: { rule: token-bucket, capacity: 2, refill: 1, period: 1s, blockFor: 15m } } }\n",
    )
    const ended = run(['serve', '--port', '0', '--policies', file], terminal)
    await waitUntil(async () => (terminal.text().includes('Ctrl-C') ? undefined : terminal.errors()))
    const [, url, token] = /page +(http:\/\/127\.0\.0\.1:\d+)\/#token=([\w-]{32})\n/.exec(terminal.text()) ?? []
    expect(terminal.text()).toBe(`Sluice decides at ${url}, with the memory of this process.

  page      ${url}/#token=${token}
  metrics   ${url}/metrics
  reads     need no token on this machine; through a proxy they do

Policies of ${file}:

  it's  user  fixed-window  limit 5, window 1 m, shadow, prefetch
        ip    token-bucket  capacity 2, refill 1, period 1 s, blockFor 15 m

Try it:

  curl ${url}/v1/consume -H "authorization: Bearer ${token}" -H 'content-type: application/json' \\
    -d '{"policy":"it'\\''s","key":"user:42"}'

Stop it with Ctrl-C.
`)
    ending.abort()
    expect(await ended).toBe(0)
    expect(terminal.errors()).toMatch(/^\S+Z stopping: open requests are answered\n\S+Z stopped\n$/)
  })

  it('has a policy to try things out with, and needs no file', async () => {
    const { post, lines, stop } = await served([])
    expect(lines()[0]).toMatchObject({ policies: ['api', 'messages', 'tokens'], file: null, store: 'memory' })
    expect((await post('/v1/consume', { policy: 'api', key: 'user:42' })).body.remaining).toBe(99)
    expect(await stop()).toBe(0)
    expect(lines().map(({ event }) => event)).toEqual(['started', 'closing', 'closed'])
  })

  it('makes traffic when it is asked to, until it ends', async () => {
    const { get, stop } = await served(['--demo'])
    await expect
      .poll(
        async () =>
          ((await get('/v1/live')).body.policies as { allowed: number }[]).every(({ allowed }) => allowed > 0),
        {
          timeout: 20_000,
        },
      )
      .toBe(true)
    expect(await stop()).toBe(0)
  })

  it('takes another port when its own is taken and no port was given', async () => {
    const busy = createServer().listen(8_080, '127.0.0.1')
    // Where another program has the port already, it is taken too.
    await once(busy, 'listening').catch(() => {})
    onTestFinished(() => void busy.close())
    const ending = new AbortController()
    const terminal = recordingTerminal({ signal: ending.signal })
    const ended = run(['serve', '--json'], terminal)
    await waitUntil(async () => (terminal.text() === '' ? 'nothing was printed' : undefined))
    expect(JSON.parse(terminal.text()).url).not.toContain(':8080')
    ending.abort()
    expect(await ended).toBe(0)
  })

  it('shows the page that is beside the program, and says which Redis it is on', async () => {
    const page = await writePolicies('<title>Sluice</title>', 'index.html')
    await mkdir(join(dirname(page), 'page'))
    await rename(page, join(dirname(page), 'page', 'index.html'))
    const ending = new AbortController()
    const terminal = recordingTerminal({
      signal: ending.signal,
      env: { SLUICE_REDIS_URL: 'redis://:secret@127.0.0.1:1' },
    })
    const options = { host: '::1', port: 0, watch: true, maxBody: 1_000, allowHost: ['Limits.Example'] }
    const ended = serve(options, terminal, pathToFileURL(join(dirname(page), 'cli', 'sluice.mjs')).href)
    await waitUntil(async () => (terminal.text().includes('Ctrl-C') ? undefined : terminal.errors()))
    const [, url] =
      /Sluice decides at (http:\/\/\[::1\]:\d+), with Redis at 127\.0\.0\.1:1\.\n/.exec(terminal.text()) ?? []
    expect(terminal.text()).toContain('Example policies:\n')
    expect(terminal.text()).toContain('  reads     need the token: --allow-host says that a proxy is in front\n')
    expect(await (await fetch(url as string)).text()).toBe('<title>Sluice</title>')
    expect(terminal.text()).not.toContain('secret')
    ending.abort()
    await ended
  })

  it('ends at once when it was asked to before it started', async () => {
    const terminal = recordingTerminal({ signal: AbortSignal.abort() })
    expect(await run(['serve', '--json', '--port', '0'], terminal)).toBe(0)
    expect(terminal.text().match(/"event":"\w+"/g)).toEqual([
      '"event":"started"',
      '"event":"closing"',
      '"event":"closed"',
    ])
  })

  it('listens once', async () => {
    const { service, port } = await serving()
    await expect(listenOn(service, '127.0.0.1', port)).rejects.toThrow(
      `cannot listen on port ${port} of 127.0.0.1: Listen`,
    )
    await expect(listenOn(service, '127.0.0.1', undefined)).rejects.toThrow('cannot listen on port 8080 of 127.0.0.1: ')
  })

  it('does not take another port than the one it was asked for', async () => {
    const { url } = await served([])
    const { port } = new URL(url)
    expect(await failing(['--port', port])).toMatchObject({
      code: 1,
      complained: `sluice: port ${port} of 127.0.0.1 is in use. Choose another with --port; --port 0 takes a free one\n`,
    })
  })
})

describe('the token of sluice serve', () => {
  it('is that of a file, and is never printed', async () => {
    const file = await writePolicies(`${TOKEN}\n`, 'token.txt')
    const { url, terminal } = await served(['--token-file', file])
    const ask = (token: string) => {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
      return fetch(`${url}/v1/consume`, { method: 'POST', headers, body: '{"policy":"api","key":"a"}' })
    }
    expect((await ask(TOKEN)).status).toBe(200)
    expect((await ask(`${TOKEN}x`)).status).toBe(401)
    expect(terminal.text() + terminal.errors()).not.toContain(TOKEN)
  })

  it.each([
    ['a file', ['--token-file', 'FILE'], {}, 'Bearer $(cat FILE)"'],
    ['the environment', [], { SLUICE_TOKEN: TOKEN }, 'Bearer $SLUICE_TOKEN"'],
  ])('is shown to people as that of %s', async (_, args, env, told) => {
    const file = await writePolicies(TOKEN, "it's the token")
    const ending = new AbortController()
    const terminal = recordingTerminal({ signal: ending.signal, env })
    const ended = run(['serve', '--port', '0', ...args.map((arg) => arg.replace('FILE', file))], terminal)
    await waitUntil(async () => (terminal.text().includes('Ctrl-C') ? undefined : terminal.errors()))
    expect(terminal.text()).toContain(told.replace('FILE', `'${file.replace("'", `'\\''`)}'`))
    expect(terminal.text()).not.toContain(TOKEN)
    ending.abort()
    await ended
  })

  it('has to be yours where others can reach the service', async () => {
    expect(await failing(['--host', '0.0.0.0'])).toEqual({
      code: 2,
      said: '',
      complained:
        'sluice: a service that others can reach needs a token in --token-file or SLUICE_TOKEN, got --host 0.0.0.0 and neither\n',
    })
    const { url } = await served(['--host', '0.0.0.0'], { SLUICE_TOKEN: TOKEN })
    const local = url.replace('0.0.0.0', '127.0.0.1')
    expect((await fetch(`${local}/v1/live`)).status).toBe(401)
    expect((await fetch(`${local}/v1/live`, { headers: { authorization: `Bearer ${TOKEN}` } })).status).toBe(200)
  })

  it('may be a new one where only this machine can, by whatever name', async () => {
    const { url } = await served(['--host', 'localhost'])
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
  })
})

describe('asked wrongly, sluice serve ends with 2 and says why:', () => {
  it.each<[string, readonly string[], Record<string, string>, string]>([
    ['a port in words', ['--port', 'http'], {}, 'It must be a whole number from 0 to 65535.'],
    ['no port at all', ['--port', '65536'], {}, 'It must be a whole number from 0 to 65535.'],
    ['no body at all', ['--max-body', '0'], {}, 'It must be a whole number from 1 to 1073741824.'],
    ['an unknown option', ['--prot', '1'], {}, "unknown option '--prot'"],
    ['no file of policies', ['--policies', '/nowhere/limits.yaml'], {}, 'no such file'],
    ['no file of a token', ['--token-file', '/nowhere/token'], {}, 'there is no "/nowhere/token"'],
    ['a short token', [], { SLUICE_TOKEN: 'short' }, 'the token must be 16 to 1000 printable ASCII characters'],
    ['no Redis URL', ['--redis', 'localhost'], {}, 'a Redis URL must start with redis://'],
    [
      'a host of nowhere',
      ['--host', 'nowhere.invalid'],
      {},
      '--host nowhere.invalid is not an address of this machine',
    ],
    [
      'a host of others',
      ['--host', '192.0.2.1', '--port', '0'],
      { SLUICE_TOKEN: TOKEN },
      '192.0.2.1 is not an address of this machine',
    ],
  ])('%s', async (_, args, env, why) => {
    const { code, said, complained } = await failing(args, env)
    expect([code, said]).toEqual([2, ''])
    expect(complained).toContain(why)
  })

  it('policies with mistakes: all of them, each with its line', async () => {
    const file = await writePolicies(
      'policies:\n  api:\n    rule: sliding-window\n    limit: 0\n    window: 1m\n  other:\n    rule: slidingwindow\n    limit: 1\n',
    )
    const { code, complained } = await failing(['--policies', file])
    expect(code).toBe(2)
    expect(complained).toContain(`${file}:4:12: limit must be a whole number of at least 1, got 0`)
    expect(complained).toMatch(new RegExp(`${file}:7:\\d+: `))
  })

  it('policies that are in one another without end', async () => {
    const file = await writePolicies('- '.repeat(90_000))
    const { code, complained } = await failing(['--policies', file])
    expect(complained).toMatch(/^sluice: .*:1:\d+: values must be nested at most 20 deep\n$/)
    expect(code).toBe(2)
  })
})

describe('sluice serve reloads its policies', () => {
  const limit = async ({ post }: Awaited<ReturnType<typeof served>>) => {
    return (await post('/v1/peek', { policy: 'api', key: 'a' })).body.limit
  }

  it('when the file was written in place', async () => {
    const file = await writePolicies(readLimit(10))
    const service = await served(['--policies', file])
    await writeFile(file, readLimit(20))
    expect(await service.tells('reloaded')).toMatchObject({ file, policies: ['api'] })
    expect(await limit(service)).toBe(20)
  })

  it('when it was replaced by another file, again and again, as editors do', async () => {
    const file = await writePolicies(readLimit(10))
    const service = await served(['--policies', file])
    for (const next of [20, 30, 40]) {
      await writeFile(`${file}.new`, readLimit(next))
      await rename(`${file}.new`, file)
      await expect.poll(() => limit(service), { timeout: 10_000 }).toBe(next)
    }
  })

  it('on SIGHUP, and then only if it is not to watch', async () => {
    const file = await writePolicies(readLimit(10))
    const service = await served(['--policies', file, '--no-watch'])
    await writeFile(file, readLimit(20))
    process.emit('SIGHUP')
    await service.tells('reloaded')
    expect(await limit(service)).toBe(20)
    expect(await service.stop()).toBe(0)
    expect(process.listenerCount('SIGHUP')).toBe(0)
  })

  it('and keeps those in force when there is a mistake, says so, and takes them when it is gone', async () => {
    const file = await writePolicies(readLimit(10))
    const service = await served(['--policies', file])
    await service.post('/v1/consume', { policy: 'api', key: 'a', cost: 4 })
    await writeFile(file, 'policies:\n  api: { rule: fixed-window, limit: -1, window: 1d }\n')
    const { error } = await service.tells('reload-failed')
    expect(error).toContain(`${file}:2:37: limit must be a whole number of at least 1, got -1`)
    expect((await service.get('/v1/live')).body.service).toMatchObject({ reloads: 0, reloadError: error })
    expect((await service.post('/v1/peek', { policy: 'api', key: 'a' })).body).toMatchObject({
      limit: 10,
      remaining: 6,
    })
    await rm(file)
    expect((await service.tells('reload-failed', 2)).error).toContain('no such file')
    await writeFile(file, readLimit(20))
    await service.tells('reloaded')
    expect((await service.get('/v1/live')).body.service).toMatchObject({ reloads: 1, reloadError: null })
    expect((await service.post('/v1/peek', { policy: 'api', key: 'a' })).body).toMatchObject({
      limit: 20,
      remaining: 16,
    })
  })

  it('and tells people about it in sentences', async () => {
    const file = await writePolicies(readLimit(10))
    const ending = new AbortController()
    const terminal = recordingTerminal({ signal: ending.signal })
    const ended = run(['serve', '--port', '0', '--policies', file], terminal)
    const says = (text: string) =>
      waitUntil(async () => (terminal.errors().includes(text) ? undefined : terminal.errors()))
    await waitUntil(async () => (terminal.text().includes('Ctrl-C') ? undefined : terminal.errors()))
    await writeFile(file, readLimit(20))
    await says(`the policies of ${file} are in force: api\n`)
    await writeFile(file, 'policies: {}')
    await says(`${file} has mistakes, the policies before stay in force:\n${file}:1:11: policies must be`)
    ending.abort()
    expect(await ended).toBe(0)
  })
})
