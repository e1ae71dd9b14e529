import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

// A rule's own file is a header, the functions of the full script, and the blocks of the hot ones. From the header come the arguments that
// the scripts take, in order, with the checks that they make: what the header says and what a script does cannot differ.

const SRC = fileURLToPath(new URL('../../src/', import.meta.url))
const PARAMETER = /^-- (\w+) +(.+)$/
const WORDS = ['exact', 'full', 'holds', 'plain']
const HOLDS = ['pooled', 'dated', 'leased']

/** The names of all rules that have a script, in order. */
export function ruleNames() {
  const folders = readdirSync(join(SRC, 'rules'), { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const names = folders.map((entry) => entry.name).filter((name) => existsSync(luaOf(name)))
  return names.sort()
}

/** What the header of a rule's file says. */
export function readRule(name) {
  const source = readFileSync(luaOf(name), 'utf8')
  const header = source.slice(0, source.search(/^(?!--)/m))
  const [first, ...lines] = header.trimEnd().split('\n')
  const rule = {
    name,
    purpose: first.slice(`-- ${name}: `.length),
    parameters: [],
    exact: undefined,
    needs: [],
  }
  for (const line of lines) {
    const [, word, text] = PARAMETER.exec(line) ?? []
    if (word === 'state') rule.state = text
    else if (word === 'needs') rule.needs = text.split(', ')
    else if (WORDS.includes(word)) rule[word] = text
    else if (word !== undefined) rule.parameters.push(readParameter(name, word, text))
  }
  if (!HOLDS.includes(rule.holds)) throw new Error(`${name}.lua must say holds ${HOLDS.join(', ')}, says ${rule.holds}`)
  return { ...rule, functions: functionsIn(source.slice(header.length)).trim() }
}

/** What a file of `src` says before its blocks. */
export function readFunctions(path) {
  return functionsIn(readLua(path))
}

/** The blocks that a rule's hot script is made of, by their names: the rule's own, and those of the files that it needs. */
export function readBlocks(name) {
  const { needs } = readRule(name)
  const files = [...needs.map((shared) => `rules/${shared}.lua`), `rules/${name}/${name}.lua`]
  // Without a block of its own for it, a refusal beside grants is left to the full script.
  return Object.assign({ setup: '', late: 'isKnown = false' }, ...files.map((file) => blocksIn(readLua(file))))
}

/** A Lua file of `src`. */
export function readLua(path) {
  return readFileSync(join(SRC, path), 'utf8').trimEnd()
}

function functionsIn(text) {
  return text.split(/^-- @/m)[0].trimEnd()
}

function blocksIn(text) {
  const [, ...parts] = text.split(/^-- @/m)
  return Object.fromEntries(parts.map((part) => [/^\w+/.exec(part)[0], part.slice(part.indexOf('\n') + 1).trimEnd()]))
}

function readParameter(rule, name, text) {
  const [description, fallback] = text.split(', default ')
  const [, least = description.match(/whole number >= (\d+)$/)?.[1], most] =
    /whole number from (\d+) to (\d+)$/.exec(description) ?? []
  const choices = /: ([\w-]+) or ([\w-]+)$/.exec(description)?.slice(1)
  if (least === undefined && choices === undefined) {
    throw new Error(`${rule}.lua does not say of ${name} what it may be: ${text}`)
  }
  return { name, text, least, most, choices, fallback }
}

function luaOf(name) {
  return join(SRC, 'rules', name, `${name}.lua`)
}
