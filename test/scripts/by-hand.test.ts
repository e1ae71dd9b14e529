import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { ruleNames } from '../../scripts/lua/assemble.mjs'
import { encodeScope, encodeSubject, type Subject } from '../../src/core/key.ts'
import { getScript } from '../../src/stores/redis/script-catalog.ts'
import { fakeProgram } from '../servers/fake-program.ts'
import type { ServerBinary } from '../servers/server-binary.ts'
import { startServer } from '../servers/start-server.ts'
import { findCli } from './find-cli.ts'
import { code, page, section, shellBlocks, tableOf } from './lua-page.ts'

// docs/lua.md is for people without the library: what it says must hold for whoever copies it, character by character.

describe('what the page tells to type', () => {
  let cli: ServerBinary
  let folder: string

  beforeAll(async () => {
    cli = await findCli(inject('redisServer'))
    folder = await mkdtemp(join(tmpdir(), 'sluice-by-hand-'))
    for (const name of ruleNames()) await writeFile(join(folder, `${name}.lua`), getScript(name).source)
    if (!/^\d{13}$/.test(await output('date +%s%3N'))) {
      // Only GNU's date knows milliseconds, as the page says.
      await fakeProgram(join(folder, 'bin', 'date'), `echo ${Date.now()}`)
    }
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it('is found', () => {
    expect(shellBlocks().length).toBeGreaterThan(15)
  })

  it.each(shellBlocks())('$title', async ({ text, prints }) => {
    const server = await startServer()
    onTestFinished(() => server.stop())
    const env = Object.entries(cli.env).map(([name, value]) => `${name}='${value}' `)
    await fakeProgram(join(folder, 'bin', 'redis-cli'), `${env.join('')}exec '${cli.path}' -p ${server.port} "$@"`)
    expect(await output(text)).toMatch(prints)
  })

  it('needs redis-cli or valkey-cli, and says so', async () => {
    vi.stubEnv('PATH', '/nowhere')
    onTestFinished(() => void vi.unstubAllEnvs())
    await expect(findCli({ path: '/no/such/redis-server', env: {} })).rejects.toThrow(
      'no redis-cli or valkey-cli beside /no/such/redis-server or on the PATH: install redis-tools, or brew install redis',
    )
  })

  async function output(commands: string): Promise<string> {
    const env = { ...process.env, PATH: [join(folder, 'bin'), process.env.PATH].join(delimiter) }
    const { stdout, stderr } = await promisify(execFile)('/bin/sh', ['-c', commands], { cwd: folder, env })
    return `${stdout} ${stderr}`.replaceAll(/\s+/g, ' ').trim()
  }
})

describe('the scripts on the page', () => {
  it('are all of them', () => {
    const listed = [...page.matchAll(/^### (.+)$/gm)].map(([, name]) => name)
    expect(listed.sort()).toEqual(ruleNames().sort())
  })

  it.each(ruleNames())('%s takes what its header says', (name) => {
    const { KEYS, ARGV, request } = headerOf(name)
    const rows = tableOf(`### ${name}`).map(([place, argument, text]) => [code(place), code(argument), text])
    const [words] = rows.filter(([, argument]) => argument === 'request')
    expect(rows).toEqual([KEYS, ...ARGV.map((row) => (row[1] === 'request' ? words : row))])
    expect(words?.[0]).toBe(request[0])
    expect(words?.[2]).toMatch(/, default 1$/)
    expect(request[2]).toMatch(/, default 1$/)
  })

  it.each(ruleNames())('%s does and keeps what its header says', (name) => {
    const { purpose, state } = headerOf(name)
    const [first] = section(`### ${name}`).trimStart().split('\n')
    expect(first?.toLowerCase()).toBe(purpose.toLowerCase())
    expect(section(`### ${name}`)).toContain(`\nState ${state}.\n`)
  })

  it.each(ruleNames())('%s understands the words of the page', (name) => {
    const words = [...(headerOf(name).request[2] ?? '').matchAll(/(?:or |, )([a-z]+)(?::\w+)?(?=,)/gi)].map(
      ([, word]) => word,
    )
    const [cost, ...requests] = tableOf('## What you can ask').map(([request]) => code(request))
    expect(requests.map((request) => request.split(':')[0])).toEqual(words)
    expect(cost).toMatch(/^\d+$/)
  })

  it.each(ruleNames())('%s answers the numbers of the page', (name) => {
    const numbers = headerOf(name)
      .reply.replaceAll(/ \([^)]*\)| 0\|1/g, '')
      .split(', ')
    expect(tableOf('## What comes back').map(([number]) => code(number))).toEqual(numbers)
  })
})

describe('the keys on the page', () => {
  it.each(tableOf('## Keys'))('of limiter %s, state %s and subject %s are the library’s', (...cells) => {
    const [limiter = '', state = '', subject = '', key = ''] = cells.map(code)
    const encoded = encodeSubject(JSON.parse(subject) as Subject)
    expect(key).toBe(`sluice:${encodeScope(JSON.parse(limiter), state)}:${encoded}`)
  })
})

/** What the first lines of a script say, in the parts that the page has. */
function headerOf(name: string) {
  const [header = ''] = getScript(name).source.split('\n\n')
  const line = (start: string): string => new RegExp(`^-- ${start} *(.+)$`, 'm').exec(header)?.[1] ?? ''
  const ARGV = [...header.matchAll(/^-- (ARGV\S+) +(\w+): (.+)$/gm)].map((match) => match.slice(1))
  return {
    purpose: line(`sluice ${name}, version \\d+:`),
    KEYS: ['KEYS[1..n]', '', line('KEYS\\[1..n\\]')],
    ARGV,
    request: ARGV.find(([, argument]) => argument === 'request') ?? [],
    reply: line('returns').replace('for each key five integers: ', ''),
    state: line('state').replace(/^(\S+):/, '`$1`:'),
  }
}
