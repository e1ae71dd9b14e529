import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { parse } from 'luaparse'
import { beforeAll, describe, expect, it } from 'vitest'
import { argumentNames, assemble, scriptNames } from '../../scripts/lua/assemble.mjs'
import { RELEASED, readManifest, readScript } from '../../scripts/lua/catalog.mjs'
import { readRule, ruleNames } from '../../scripts/lua/read-rule.mjs'
import type { Rule } from '../../src/core/rule.ts'
import { getScript, listScripts } from '../../src/stores/redis/script-catalog.ts'
import { everyRule, GOOD, ruleOf } from '../rule-registry.ts'
import type { RuleMode } from '../rule-samples.ts'
import { type Address, ask } from '../servers/ask.ts'
import { useServer } from '../servers/shared-servers.ts'

const manifest = readManifest()
const versions = Object.entries(manifest).flatMap(([name, list]) =>
  list.map((entry) => [`${name}@${entry.version}`, name, entry] as const),
)

/** One rule of every kind, to compare its parameters with what its script takes. */
const rules: readonly Rule[] = everyRule.map(({ samples }) => ruleOf(samples.modes[0] as RuleMode, GOOD))

let server: Address
beforeAll(async () => {
  server = await useServer()
})

describe('the manifest', () => {
  it('names a script for every rule, one for tiers, and the files that are kept', () => {
    expect(ruleNames()).toEqual(everyRule.map(({ name }) => name))
    expect(rules.map((rule) => rule.kind)).toEqual(ruleNames())
    expect(scriptNames()).toEqual([...ruleNames().flatMap((name) => [name, `${name}-hot`]), 'tiers'])
    expect(Object.keys(manifest)).toEqual(scriptNames())
    const released = versions.filter(([, , entry]) => entry.released).map(([title]) => `${title}.lua`)
    expect(existsSync(RELEASED) ? readdirSync(RELEASED).sort() : []).toEqual(released.sort())
  })

  it.each(versions)('%s has the text that its SHA-1 says', (_, name, entry) => {
    expect(createHash('sha1').update(readScript(name, entry)).digest('hex')).toBe(entry.sha1)
  })

  it.each(scriptNames())('%s has not changed since its newest version: npm run scripts makes the next one', (name) => {
    const { version, sha1 } = manifest[name]?.at(-1) ?? { version: 0, sha1: '' }
    expect(createHash('sha1').update(assemble(name, version)).digest('hex')).toBe(sha1)
  })

  it.each(Object.keys(manifest))('%s counts its versions from 1', (name) => {
    expect(manifest[name]?.map((entry) => entry.version)).toEqual(manifest[name]?.map((_, index) => index + 1))
  })
})

describe('getScript', () => {
  it('answers every version of every script, and the newest without one', () => {
    expect(listScripts()).toHaveLength(versions.length)
    for (const [, name, entry] of versions) {
      const { version, sha1 } = entry
      expect(getScript(name, version)).toMatchObject({ name, version, sha1, source: readScript(name, entry) })
    }
    expect(getScript('sliding-window')).toBe(getScript('sliding-window', manifest['sliding-window']?.length))
  })

  it('says what there is when asked for what there is not', () => {
    const known = versions.map(([, name, { version }]) => `${name} ${version}`).join(', ')
    expect(() => getScript('window')).toThrow(`unknown script "window"; scripts are ${known}`)
    expect(() => getScript('sliding-window', 99)).toThrow(
      `unknown script "sliding-window", version 99; scripts are ${known}`,
    )
    expect(() => getScript('sliding-window', 0)).toThrow('version must be a whole number of at least 1, got 0')
  })
})

describe.each(versions)('the text of %s', (_, name, entry) => {
  const { sha1 } = entry
  const text = readScript(name, entry)

  it('is known to a server by the SHA-1 of the manifest', async () => {
    expect(await ask(server, 'SCRIPT', 'LOAD', text)).toBe(sha1)
  })

  it('is Lua 5.1 with no globals but those of the server', () => {
    const assigned: string[] = []
    const { globals } = parse(text, {
      luaVersion: '5.1',
      scope: true,
      onCreateNode(node) {
        const { variables = [] } = node as unknown as { variables?: { type: string; name: string; isLocal: boolean }[] }
        if (node.type !== 'AssignmentStatement') return
        for (const variable of variables)
          if (variable.type === 'Identifier' && !variable.isLocal) assigned.push(variable.name)
      },
    })
    expect(assigned).toEqual([])
    const strange = globals.map((node) => node.name as string).filter((global) => !OF_THE_SERVER.includes(global))
    expect(strange).toEqual([])
  })

  it('touches no other keys than those that it was given', () => {
    const calls = [...text.matchAll(/\bcall\(([^\n]*)/g)].map(([, args = '']) => args)
    const onKeys = /^'(GET|MGET|EXISTS|SET|DEL)', (KEYS\[1\]|key|\(table\.unpack or unpack\)\((KEYS|missing)\))[,)]/
    expect(calls.filter((args) => !args.startsWith("'TIME')") && !onKeys.test(args))).toEqual([])
    expect(calls.length).toBeGreaterThanOrEqual(name.endsWith('-hot') ? 5 : 7)
    expect(calls.length).toBeLessThanOrEqual(name.endsWith('-hot') ? 6 : 7)
    const notes = [...text.matchAll(/\bnote\(([^\n]*)/g)].map(([, args = '']) => args)
    expect(notes.filter((args) => !/^(?:(?:part\.)?key|KEYS\[#KEYS\]),/.test(args))).toEqual([])
  })
})

describe.each(rules.map((rule) => [rule.kind, rule] as const))('the header of %s', (kind, rule) => {
  const header = readRule(kind)

  it('names the parameters of the rule, in their order, the limit first', () => {
    expect(header.parameters.map((parameter) => parameter.name)).toEqual(Object.keys(rule.parameters))
    expect(Object.values(rule.parameters)[0]).toBe(rule.limit)
  })

  it('names the layout of the state that keys are named after', () => {
    expect(header.state.split(':')[0]?.replace('-N@', `-${rule.parameters.slices}@`)).toBe(rule.stateName)
  })

  it('asks first for what has no default', () => {
    const { required, optional } = getScript(kind)
    expect([...required, ...optional]).toEqual(Object.keys(rule.parameters))
  })

  it('says what is in the script: purpose, KEYS, ARGV and reply', () => {
    const lines = getScript(kind).source.split('\n')
    const places = lines.slice(0, lines.indexOf('')).map((line) => /^-- (\S+)/.exec(line)?.[1])
    expect(places[0]).toBe('sluice')
    expect(places.slice(2, 3)).toEqual(['KEYS[1..n]'])
    expect(places.slice(-4)).toEqual(['t*', '=', 'returns', 'state'])
    expect(places.filter((place) => place?.startsWith('ARGV'))).toHaveLength(header.parameters.length + 2)
  })
})

describe('the header of tiers', () => {
  const [header = ''] = getScript('tiers').source.split('\n\n')

  it('says what is in the script: purpose, KEYS, ARGV, what is asked and the reply', () => {
    const places = header.split('\n').map((line) => /^-- (\S*)/.exec(line)?.[1])
    expect(places.filter((place) => place)).toEqual([
      'sluice',
      ...['KEYS[1..n]', 'KEYS[n+1]', 'ARGV[1]', 'ARGV[2]', 'ARGV[3..]'],
      ...['request', 'shadow:', 'changing:', 'd*', 'returns'],
    ])
  })

  it.each(rules.map((rule) => [rule.kind, rule] as const))('lists what %s takes, in its order', (kind, rule) => {
    const [, listed] = new RegExp(`^-- {14}${kind} (.+) request$`, 'm').exec(header) ?? []
    expect(listed?.split(' ')).toEqual(Object.keys(rule.parameters))
    const { required, optional } = argumentNames(kind)
    expect(listed?.split(' ')).toEqual([...required, ...optional])
  })

  it('is all that a rule script says of requests and replies', () => {
    const other = getScript('token-bucket').source
    const requests = /request: of each key (.+); default 1$/m.exec(other)?.[1]
    expect(header).toContain(`request      of each tier ${requests}\n`)
    const reply = /^-- returns +for each key (.+)$/m.exec(other)?.[1]
    expect(header).toContain(`returns      for each tier ${reply}; and at last for each tier the time of its decision`)
  })
})

const OF_THE_SERVER = [
  ...['KEYS', 'ARGV', 'redis', 'struct', 'math', 'string', 'table', 'unpack', 'pcall'],
  ...['tonumber', 'tostring', 'error', 'ipairs', 'pairs'],
]
