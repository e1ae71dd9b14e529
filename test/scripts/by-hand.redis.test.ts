import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { scriptNames } from '../../scripts/lua/assemble.mjs'
import { ruleNames } from '../../scripts/lua/read-rule.mjs'
import { encodeScope, encodeSubject, type Subject } from '../../src/core/key.ts'
import type { Rule } from '../../src/core/rule.ts'
import { getScript } from '../../src/stores/redis/script-catalog.ts'
import { fakeProgram } from '../servers/fake-program.ts'
import type { ServerBinary } from '../servers/server-binary.ts'
import { useServer } from '../servers/shared-servers.ts'
import { findCli } from './find-cli.ts'
import { code, page, section, shellBlocks, tableOf } from './lua-page.ts'

// docs/lua.md is for people without the library: what it says must hold for whoever copies it, character by character.

describe('what the page tells to type', () => {
  let cli: ServerBinary
  let folder: string

  beforeAll(async () => {
    cli = await findCli(inject('redisServer'))
    folder = await mkdtemp(join(tmpdir(), 'sluice-by-hand-'))
    for (const name of scriptNames()) await writeFile(join(folder, `${name}.lua`), getScript(name).source)
    if (!/^\d{13}$/.test(await output('date +%s%3N'))) {
      // Only GNU's date knows milliseconds, as the page says.
      await fakeProgram(join(folder, 'bin', 'date'), `echo ${Date.now()}`)
    }
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it('is found', () => {
    expect(shellBlocks().length).toBeGreaterThan(25)
  })

  it.each(shellBlocks())('$title', async ({ text, prints }) => {
    const server = await useServer()
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

const fullNames = scriptNames().filter((name) => !name.endsWith('-hot'))

describe('the scripts on the page', () => {
  it('are all of them', () => {
    const [, scripts = ''] = page.split('## The scripts\n')
    const listed = [...scripts.matchAll(/^### (.+)$/gm)].map(([, name]) => name)
    expect(listed.sort()).toEqual([...fullNames].sort())
  })

  it.each(ruleNames())('%s takes what its header says', (name) => {
    const { KEYS, ARGV, request } = headerOf(name)
    const rows = tableOf(`### ${name}`).map(([place, argument, text]) => [code(place), code(argument), text])
    const [words] = rows.filter(([, argument]) => argument === 'request')
    expect(rows).toEqual([KEYS, ...ARGV.map((row) => (row[1] === 'request' ? words : row))])
    expect(words?.[0]).toBe(request[0])
    expect(words?.[2]).toMatch(/, default 1$/)
    expect(request[2]).toMatch(/; default 1$/)
  })

  it.each(ruleNames())('%s does and keeps what its header says', (name) => {
    const { purpose, state } = headerOf(name)
    const [first] = section(`### ${name}`).trimStart().split('\n')
    expect(first?.toLowerCase()).toBe(purpose.toLowerCase())
    expect(section(`### ${name}`)).toContain(`\nState ${state}.\n`)
  })

  it.each(fullNames)('%s understands the words of the page, with as many numbers', (name) => {
    const [shapes = '', more = ''] = (headerOf(name).request[2] ?? '').split('; ')
    const words = [...shapes.matchAll(/(?:or |, )([a-z]+)((?::[a-z]+)*)(\[:[a-z]+\])?(?=,|$)/gi)].flatMap(
      ([, word = '', numbers = '', optional = '']) => {
        const shape = `${word}${numbers.replaceAll(/[a-z]+/gi, '0')}`
        return optional === '' ? [shape] : [shape, `${shape}:0`]
      },
    )
    const requests = tableOf('## What you can ask').map(([request]) => code(request).replaceAll(/\d+/g, '0'))
    expect(requests).toEqual(['0', '0:blockFor:0', ...words])
    expect(words).toContain('reserve:0:0:0')
    expect(more).toBe('after a cost or reserve :blockFor:milliseconds')
  })

  it.each(fullNames)('%s answers the numbers of the page', (name) => {
    const numbers = headerOf(name)
      .reply.replaceAll(/ \([^)]*\)| 0\|1/g, '')
      .split(', ')
    expect(tableOf('## What comes back').map(([number]) => code(number))).toEqual(numbers)
  })

  it('tiers takes what its header says', () => {
    const [header = ''] = getScript('tiers').source.split('\n\n')
    const lines = [...header.matchAll(/^-- (?:(KEYS\S+|ARGV\S+|request|shadow:|changing:|d\*) +| {13})(.+)$/gm)]
    const rows = lines.map(([, place = '', text = '']) => {
      if (place === 'request') return ['', place, 'of each tier a cost or one of [the words](#what-you-can-ask)']
      if (/[:*]$/.test(place)) return ['', place, text]
      const [, name = '', meaning = text] = /^(\w+): (.+)$/.exec(text) ?? []
      return [place, name, meaning]
    })
    expect(rows).toHaveLength(5 + ruleNames().length + 4)
    expect(tableOf('### tiers').map((cells) => cells.map(code))).toEqual(rows)
  })

  it('tiers does what its header says', () => {
    const [first] = section('### tiers').trimStart().split('\n')
    expect(first?.toLowerCase()).toBe(headerOf('tiers').purpose.toLowerCase())
  })
})

describe('the keys on the page', () => {
  it.each(tableOf('## Keys'))('of limiter %s, tier %s, state %s and subject %s are the library’s', (...cells) => {
    const [limiter = '', tier = '', state = '', subject = '', key = ''] = cells.map(code)
    const [stateName, changing] = state.split('+')
    const scope = encodeScope({
      limiter: JSON.parse(limiter),
      tier: tier === '' ? undefined : JSON.parse(tier),
      rule: { stateName } as Rule,
      rulesVary: changing === 'rule',
    })
    expect(key).toBe(`sluice:${scope}:${encodeSubject(JSON.parse(subject) as Subject)}`)
  })
})

/** What the first lines of a script say, in the parts that the page has. */
function headerOf(name: string) {
  const [header = ''] = getScript(name).source.split('\n\n')
  const line = (start: string): string => new RegExp(`^-- ${start} *(.+)$`, 'm').exec(header)?.[1] ?? ''
  const ARGV = [...header.matchAll(/^-- (ARGV\S+) +(\w+): (.+)$/gm)].map((match) => match.slice(1))
  const asked = ['', 'request', line('request')]
  return {
    purpose: line(`sluice ${name}, version \\d+:`),
    KEYS: ['KEYS[1..n]', '', line('KEYS\\[1..n\\]')],
    ARGV,
    request: ARGV.find(([, argument]) => argument === 'request') ?? asked,
    reply: line('returns').replace(
      /^for each (key|tier) five integers: |; and at last for each tier the time of its decision$/g,
      '',
    ),
    state: line('state').replace(/^(\S+):/, '`$1`:'),
  }
}
