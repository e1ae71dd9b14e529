import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { assemble, scriptNames } from '../../scripts/lua/assemble.mjs'
import { readRule, ruleNames } from '../../scripts/lua/read-rule.mjs'
import { encodeScope, encodeSubject, type Subject } from '../../src/core/key.ts'
import type { Rule } from '../../src/core/rule.ts'
import { getScript } from '../../src/stores/redis/script-catalog.ts'
import { fakeProgram } from '../servers/fake-program.ts'
import type { ServerBinary } from '../servers/server-binary.ts'
import { useServer } from '../servers/shared-servers.ts'
import { findCli } from './find-cli.ts'
import { code, shellBlocks, tableOf } from './lua-page.ts'

// docs/lua.md is for people without the library: what it says must hold when it is copied, character by character.

describe('what the page tells to type', () => {
  let cli: ServerBinary
  let folder: string

  beforeAll(async () => {
    cli = await findCli(inject('redisServer'))
    folder = await mkdtemp(join(tmpdir(), 'sluice-by-hand-'))
    for (const name of scriptNames()) await writeFile(join(folder, `${name}.lua`), assemble(name, 1))
    if (!/^\d{13}$/.test(await output('date +%s%3N'))) {
      // Only GNU's date knows milliseconds, as the page says.
      await fakeProgram(join(folder, 'bin', 'date'), `echo ${Date.now()}`)
    }
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it('is found', () => {
    expect(shellBlocks().length).toBeGreaterThan(3)
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

describe('the scripts on the page', () => {
  it.each(ruleNames())('%s takes what its header says', (name) => {
    const [, parameters = ''] = tableOf('## The rules').find(([script]) => code(script) === `${name}.lua`) ?? []
    const words = code(parameters).split(' ')
    expect(words.filter((word) => !word.startsWith('['))).toEqual(getScript(name).parameters)
    expect(words.map((word) => word.replaceAll(/[[\]]/g, ''))).toEqual(readRule(name).parameters.map((one) => one.name))
  })

  it('sluice understands the words of the page, with as many numbers', () => {
    const [header = ''] = assemble('sluice', 1).split('\n\n')
    const [, text = ''] = /^-- request +([\s\S]+?)\n-- shadow:/m.exec(header) ?? []
    const [shapes = '', more = ''] = text.replaceAll(/\n-- +/g, ' ').split('; ')
    const words = [...shapes.matchAll(/(?:or |, )([a-z]+)((?::[a-z]+)*)(\[:[a-z]+\])?(?=,|$)/gi)].flatMap(
      ([, word = '', numbers = '', optional = '']) => {
        const shape = `${word}${numbers.replaceAll(/[a-z]+/gi, '0')}`
        return optional === '' ? [shape] : [shape, `${shape}:0`]
      },
    )
    const requests = tableOf('## Everything else').map(([request]) => code(request).replaceAll(/\d+/g, '0'))
    expect(requests).toEqual(['0', '0:blockFor:0', ...words])
    expect(words).toContain('reserve:0:0:0')
    expect(more).toBe(
      'after a grant :id:used of the one before it, and after a cost, reserve or grant :blockFor:milliseconds',
    )
  })

  it('answer what the page says', () => {
    const replies = tableOf('## What comes back').map(([reply]) => code(reply))
    expect(replies).toContain('remaining resetAfterMs nextAfterMs')
    const headers = [...ruleNames(), 'sluice', 'tiers'].map((name) => assemble(name, 1).split('\n\n')[0] ?? '')
    for (const header of headers) expect(header).toContain('Allowed: remaining, resetAfterMs, nextAfterMs.')
    expect(replies.filter((reply) => reply.startsWith('-'))).toEqual([
      '-1 remaining resetAfterMs retryAfterMs',
      '-2 blockedMs resetAfterMs retryAfterMs',
      '-3 0 0 0',
      '-3 - delayMs remaining resetAfterMs nextAfterMs',
    ])
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
