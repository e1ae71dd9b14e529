import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

// A rule's own file is a header and one function. From the header come the arguments that the script takes, in order, with the
// checks that it makes: what the header says and what the script does cannot differ.

const SRC = fileURLToPath(new URL('../../src/', import.meta.url))
const PARAMETER = /^-- (\w+) +(.+)$/
const WORDS = ['exact', 'needs', 'valid']
const SIGNATURE = /^local function step\((.+), state, nowMs, cost, force\)$/m

/** The names of all rules that have a script. */
export function ruleNames() {
  const folders = readdirSync(join(SRC, 'rules'), { withFileTypes: true }).filter((entry) => entry.isDirectory())
  return folders.map((entry) => entry.name).filter((name) => existsSync(luaOf(name)))
}

/** What the header of a rule's file says. Throws when it and the function disagree. */
export function readRule(name) {
  const source = readFileSync(luaOf(name), 'utf8')
  const header = source.slice(0, source.indexOf('local function'))
  const [first, ...lines] = header.trimEnd().split('\n')
  const rule = { name, purpose: first.slice(`-- ${name}: `.length), parameters: [], exact: undefined, needs: undefined }
  for (const line of lines) {
    const [, word, text] = PARAMETER.exec(line) ?? []
    if (word === 'state') rule.state = text
    else if (WORDS.includes(word)) rule[word] = text
    else if (word !== undefined) rule.parameters.push(readParameter(name, word, text))
  }
  const names = rule.parameters.map((parameter) => parameter.name).join(', ')
  const taken = SIGNATURE.exec(source)?.[1]
  if (names !== taken) throw new Error(`${name}.lua describes ${names}, and its function takes ${taken}`)
  return { ...rule, step: source.slice(header.length).trimEnd() }
}

/** The script of a rule: header, prelude, the rule's function, and a main that decides any number of keys. */
export function assemble(name, version) {
  const rule = readRule(name)
  const numbered = numberArguments(rule)
  const part = (file) => readFileSync(join(SRC, file), 'utf8').trimEnd()
  const sections = [
    ...(rule.needs === undefined ? [] : [part(`rules/${rule.needs}.lua`)]),
    rule.step,
    part('stores/redis/lua/entry.lua'),
    part('stores/redis/lua/frame.lua'),
    part('stores/redis/lua/main.lua'),
    mainOf(rule, numbered),
  ]
  const prelude = usedOf(part('stores/redis/lua/prelude.lua'), sections.join('\n'))
  return `${[headerOf(rule, version, numbered), ...prelude, ...sections].join('\n\n')}\n`
}

/** What the script uses of the prelude: a function that is made at every call and never used would cost every call. */
function usedOf(prelude, script) {
  return prelude.split(/\n\n/).filter((block) => {
    const name = /^local function (\w+)/m.exec(block)?.[1]
    return name === undefined || script.includes(`${name}(`)
  })
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

/** What is always given comes first, then what is often given, then what has a default. */
function numberArguments({ parameters }) {
  const required = parameters.filter((parameter) => parameter.fallback === undefined)
  const optional = parameters.filter((parameter) => parameter.fallback !== undefined)
  const count = required.length
  return [
    ...required.map((parameter, index) => ({ ...parameter, place: `${index + 1}` })),
    { name: 'nowMs', place: `${count + 1}`, text: NOW },
    { name: 'request', place: `${count + 2}..${count + 1}+n`, text: REQUEST },
    ...optional.map((parameter, index) => ({ ...parameter, place: `${count + 2 + index}+n` })),
  ]
}

function headerOf({ name, purpose, state }, version, numbered) {
  const rows = [
    ['KEYS[1..n]', 'what the state of each subject is kept under; on a Cluster all in one slot'],
    ...numbered.map((argument) => [`ARGV[${argument.place}]`, `${argument.name}: ${argument.text}`]),
    ['returns', REPLY],
    ['state', state],
  ]
  const lines = rows.map(([what, text]) => `-- ${what.padEnd(12)} ${text}`)
  return [`-- sluice ${name}, version ${version}: ${purpose}`, '--', ...lines].join('\n')
}

function mainOf({ parameters, exact, valid }, numbered) {
  const read = numbered.filter(({ name }) => name !== 'nowMs' && name !== 'request').map(readArgument)
  const firstRequest = numbered.findIndex((argument) => argument.name === 'request') + 1
  const names = parameters.map((parameter) => parameter.name).join(', ')
  return [
    ...read,
    ...(exact === undefined ? [] : [`exactly('${exact}', ${exact})`]),
    `local nowMs, isServerTime = clock(ARGV[${firstRequest - 1}])`,
    '',
    'local function isState(state)',
    `  return ${valid}`,
    'end',
    '',
    'local function stepWithParameters(state, timeMs, cost, force)',
    `  return step(${names}, state, timeMs, cost, force)`,
    'end',
    '',
    `return decideAll(stepWithParameters, isState, ${parameters[0].name}, nowMs, isServerTime, ${firstRequest})`,
  ].join('\n')
}

function readArgument({ name, place, least, most, choices, fallback }) {
  const index = place.endsWith('+n') ? `${place.slice(0, -2)} + #KEYS` : place
  const given = fallback === undefined ? `ARGV[${index}]` : `ARGV[${index}] or ${choices ? `'${fallback}'` : fallback}`
  const check = choices
    ? `choice('${name}', ${given}, '${choices.join("', '")}')`
    : `whole('${name}', ${given}, ${least}${most === undefined ? '' : `, ${most}`})`
  return `local ${name} = ${check}`
}

function luaOf(name) {
  return join(SRC, 'rules', name, `${name}.lua`)
}

const NOW = "time in milliseconds, whole number >= 0, or -1 for the server's, default -1"
const REQUEST =
  'of each key a cost, whole number >= 1, or peek:cost, charge:amount, giveBack:amount, block:milliseconds, unblock, reset, default 1'
const REPLY =
  'for each key five integers: allowed 0|1, remaining, retryAfterMs (-1: never), resetAfterMs, waitMs (allowed: before going on; refused: left of a block)'
