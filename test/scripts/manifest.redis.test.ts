import { existsSync, readdirSync } from 'node:fs'
import { parse } from 'luaparse'
import { beforeAll, describe, expect, it } from 'vitest'
import { assemble, parameterNames, scriptNames } from '../../scripts/lua/assemble.mjs'
import { RELEASED, readManifest, readScript, sha1Of } from '../../scripts/lua/catalog.mjs'
import { minify } from '../../scripts/lua/minify.mjs'
import { readRule, ruleNames } from '../../scripts/lua/read-rule.mjs'
import type { Rule } from '../../src/core/rule.ts'
import { getScript, listScripts } from '../../src/stores/redis/script-catalog.ts'
import { everyRule, GOOD, ruleOf } from '../rule-registry.ts'
import type { RuleMode } from '../rule-samples.ts'
import { type Address, ask } from '../servers/ask.ts'
import { useServer } from '../servers/shared-servers.ts'
import { treeOf } from './same-program.ts'

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
  it('names a script for every rule, one for tiers, one for everything, and the files that are kept', () => {
    expect(ruleNames()).toEqual(everyRule.map(({ name }) => name))
    expect(rules.map((rule) => rule.kind)).toEqual(ruleNames())
    expect(scriptNames()).toEqual([...ruleNames(), 'sluice', 'tiers'])
    expect(Object.keys(manifest)).toEqual(scriptNames())
    const released = versions.filter(([, , entry]) => entry.released).map(([title]) => `${title}.lua`)
    expect(existsSync(RELEASED) ? readdirSync(RELEASED).sort() : []).toEqual(released.sort())
  })

  it.each(versions)('%s has the text that its SHA-1 says', (_, name, entry) => {
    expect(sha1Of(readScript(name, entry))).toBe(entry.sha1)
  })

  it.each(scriptNames())('%s has not changed since its newest version: npm run scripts makes the next one', (name) => {
    const { version, sha1 } = manifest[name]?.at(-1) ?? { version: 0, sha1: '' }
    expect(sha1Of(assemble(name, version))).toBe(sha1)
  })

  it.each(ruleNames())('the hot script of %s is short enough to be read in one go', (name) => {
    const most = ['sliding-log', 'concurrency'].includes(name) ? 170 : 130
    expect(assemble(name, 1).trimEnd().split('\n').length).toBeLessThanOrEqual(most)
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
      const source = minify(readScript(name, entry))
      expect(getScript(name, version)).toMatchObject({ name, version, sha1, source })
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
  const readable = readScript(name, entry)
  const text = minify(readable)

  it('does the same as the one that a person reads', () => {
    expect(treeOf(text)).toEqual(treeOf(readable))
    expect(text.split('\n', 1)).toEqual(readable.split('\n', 1))
  })

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
    const calls = [...readable.matchAll(/(?:\b(?:redis\.p)?call|(?<!\.)\bread)\(([^\n]*)/g)].map(
      ([, args = '']) => args,
    )
    const onKeys =
      /^'(GET|MGET|GETRANGE|EXISTS|SET|SETRANGE|DEL|PEXPIRE)', (KEYS\[(1|place|index)\]|key|\(table\.unpack or unpack\)\((KEYS|missing)\))[,)]/
    expect(calls.filter((args) => !args.startsWith("'TIME')") && !onKeys.test(args))).toEqual([])
    expect(calls.length).toBeGreaterThanOrEqual(4)
    expect(calls.length).toBeLessThanOrEqual(name === 'sluice' ? 9 : 7)
    // A key is one of those that were given, or what came from them.
    const keys = [...readable.matchAll(/\bkey(?:, [\w, ]+)? = ([^\n,]+)/g)].map(([, from = '']) => from)
    const given = /^(?:KEYS\[[^\n]+\]|missing\[place\]|slotKeys\[slot\]|part\.key|run\.key|key)$/
    expect(keys.filter((from) => !given.test(from.replace(/ \}$/, '')))).toEqual([])
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

  it('names what its script takes: all that its blocks need', () => {
    const { parameters } = getScript(kind)
    expect(parameters).toEqual(parameterNames(kind))
    expect(Object.keys(rule.parameters).filter((name) => parameters.includes(name))).toEqual(parameters)
    expect(parameters[0]).toBe(Object.keys(rule.parameters)[0])
  })

  it('says what is in the script: purpose, KEYS, ARGV and reply', () => {
    const lines = assemble(kind, 1).split('\n')
    const places = lines.slice(0, lines.indexOf('')).map((line) => /^-- (\S*)/.exec(line)?.[1])
    expect(places[0]).toBe('sluice')
    expect(places.slice(2, 3)).toEqual(['KEYS[1..n]'])
    expect(places.filter((place) => place).slice(-2)).toEqual(['returns', 'state'])
    expect(places.filter((place) => place?.startsWith('ARGV'))).toHaveLength(getScript(kind).parameters.length + 3)
  })
})

describe.each(['sluice', 'tiers'])('the header of %s', (name) => {
  const [header = ''] = assemble(name, 1).split('\n\n')

  it('says what is in the script: purpose, KEYS, ARGV, what is asked and the reply', () => {
    const places = header.split('\n').map((line) => /^-- (\S*)/.exec(line)?.[1])
    expect(places.filter((place) => place)).toEqual(
      name === 'tiers'
        ? ['sluice', 'KEYS[1..n*d]', 'ARGV[1]', 'ARGV[2]', 'ARGV[3..]', 'returns']
        : [
            'sluice',
            ...['KEYS[1..n]', 'KEYS[n+1]', 'ARGV[1]', 'ARGV[2]', 'ARGV[3..]'],
            ...['request', 'shadow:', 'changing:', 'returns'],
          ],
    )
  })

  it.each(rules.map((rule) => [rule.kind, rule] as const))('lists what %s takes, in its order', (kind, rule) => {
    const [, listed] = new RegExp(`^-- +${kind} (.+) (?:request|blockMs)$`, 'm').exec(header) ?? []
    expect(listed?.split(' ')).toEqual(name === 'tiers' ? parameterNames(kind) : Object.keys(rule.parameters))
  })
})

const OF_THE_SERVER = [
  ...['KEYS', 'ARGV', 'redis', 'struct', 'math', 'string', 'table', 'unpack', 'pcall'],
  ...['tonumber', 'tostring', 'error', 'ipairs', 'pairs', 'type'],
]
