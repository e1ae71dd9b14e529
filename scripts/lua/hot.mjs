import { nameLocals } from './name-locals.mjs'
import { readBlocks, readLua, readRule } from './read-rule.mjs'

// A hot script is hot.lua with the blocks of one rule in it, and makes no function. A block starts with its name, `-- @step`, in the
// rule's own file or in the one that it needs.

/** What a hot script takes for its rule: the parameters that its blocks use, in their order. */
export function hotParameters(name) {
  const text = Object.values(readBlocks(name)).join('\n')
  return readRule(name).parameters.filter((parameter) => new RegExp(`\\b${parameter.name}\\b`).test(text))
}

/** The text of a rule's hot script. */
export function assembleHot(name, version) {
  const rule = readRule(name)
  const parameters = hotParameters(name)
  const blocks = readBlocks(name)
  const isDelaying = blocks.step.includes('delayMs')
  const setting = SETTING.replace('WRITE', `${blocks.write.replace(/^stored = /, '')} or value or ''`)
  const parts = {
    get: GET,
    value: VALUE,
    missing: MISSING,
    ...blocks,
    arguments: readArguments(rule, parameters),
    allowed: isDelaying ? DELAYED : AT_ONCE,
    set: blocks.patch === undefined ? setting : `${KEEPING}\n  ${blocks.patch}\nelse\n${indent(setting, '  ')}\nend`,
  }
  const script = readLua('stores/redis/lua/hot.lua')
    .replace(/^( *)-- @(\w+)\n/gm, (_, spaces, part) => (parts[part] === '' ? '' : `${indent(parts[part], spaces)}\n`))
    .replaceAll('isMissing(key)', parts.missing.replace(/^isMissing = /, ''))
    .replaceAll('isPlain(value)', `(${rule.plain})`)
    .replaceAll('FIRST', `${parameters.length + 2}`)
    .replaceAll(/\blimit\b/g, parameters[0].name)
  return `${[writeHeader(rule, version, parameters, isDelaying), nameLocals(script)].join('\n\n')}\n`
}

/** The arguments as locals, and the checks of those that are given. */
function readArguments(rule, parameters) {
  const size = parameters.length
  const taken = [...parameters.map((one) => one.name), 'nowMs', 'blockMs', 'cost...'].join(' ')
  return [
    `local ${parameters.map((one) => one.name).join(', ')} = ${parameters.map((one, index) => readValue(one, `ARGV[${index + 1}]`)).join(', ')}`,
    ...allOf('local isRight', listConditions(rule, parameters)),
    'local nowMs, blockMs, shared = -1, 0, 1',
    `if ARGV[${size + 1}] then`,
    `  nowMs, blockMs, shared = tonumber(ARGV[${size + 1}]), tonumber(ARGV[${size + 2}] or 0), ARGV[${size + 3}] or 1`,
    '  isRight = isRight and nowMs and blockMs and nowMs % 1 + blockMs % 1 == 0 and nowMs >= -1 and blockMs >= 0 and nowMs + blockMs <= EXACT',
    'end',
    'if not isRight then',
    `  error('sluice: ${rule.name} takes ${taken} as its first lines say, got ' .. table.concat(ARGV, ' '), 0)`,
    'end',
  ].join('\n')
}

/** An argument as its parameter is. */
export function readValue({ choices }, argument) {
  return choices ? argument : `tonumber(${argument})`
}

/** What has to be true of a rule's parameters: what is not whole leaves a part, and NaN equals nothing. */
export function listConditions({ exact }, parameters) {
  const numbers = parameters.filter(({ choices }) => choices === undefined).map((one) => one.name)
  // What no cost can reach needs no room.
  const product = parameters.some((one) => one.name === 'maxDebt')
    ? exact
    : exact?.replace('(limit + maxDebt)', 'limit')
  return [
    ...numbers,
    `${numbers.map((one) => `${one} % 1`).join(' + ')} == 0`,
    ...parameters.map(({ name, choices, least, most }) => {
      if (choices !== undefined) return `(${choices.map((choice) => `${name} == '${choice}'`).join(' or ')})`
      return `${name} >= ${least}${most === undefined ? '' : ` and ${name} <= ${most}`}`
    }),
    `${numbers.join(' + ')} <= 4 * EXACT`,
    ...(product === undefined ? [] : [`${product} <= EXACT`]),
  ]
}

/** The conditions as statements, as many of them in a line as a person would write. */
export function allOf(variable, conditions) {
  const name = variable.replace('local ', '')
  const lines = [`${variable} = ${conditions[0]}`]
  for (const condition of conditions.slice(1)) {
    const longer = `${lines.at(-1)} and ${condition}`
    if (longer.length <= 140) lines[lines.length - 1] = longer
    else lines.push(`${name} = ${name} and ${condition}`)
  }
  return lines
}

function writeHeader({ name, purpose, state }, version, parameters, isDelaying) {
  const size = parameters.length
  const rows = [
    ['KEYS[1..n]', 'state of each subject, equal ones next to each other; on a Cluster all in one slot'],
    ...parameters.map(({ name: one, text }, index) => [`ARGV[${index + 1}]`, `${one}: ${text.split(', default ')[0]}`]),
    [`ARGV[${size + 1}]`, "nowMs: time in milliseconds, whole number >= 0, or -1 for the server's, default -1"],
    [
      `ARGV[${size + 2}]`,
      'blockMs: a refusal blocks the key for this long in milliseconds, whole number >= 0, default 0',
    ],
    [
      `ARGV[${size + 3}..]`,
      'of each key a cost, whole number >= 1, or times*cost; a negative cost only looks; one serves all keys, default 1',
    ],
    ['returns', 'integers. Allowed: remaining, resetAfterMs, nextAfterMs. Anything else starts with a status:'],
    ['', '-1 over the limit: remaining, resetAfterMs, retryAfterMs. -2 blocked: blockedMs, resetAfterMs, retryAfterMs'],
    ['', `-3 nothing decided, nothing written, ask sluice.lua: 0, 0, 0${isDelaying ? DELAY : ''}`],
    ['state', state],
  ]
  const lines = rows.map(([what, text]) => `-- ${what.padEnd(11)} ${text}`.trimEnd())
  return [`-- sluice ${name}, version ${version}: ${purpose}`, '--', ...lines].join('\n')
}

/** The text, further to the right. */
export function indent(text, spaces) {
  return text.replace(/^(?=.)/gm, spaces)
}

const GET = `local only, values = #KEYS == 1 and redis.call('GET', KEYS[1]), #KEYS > 1 and redis.call('MGET', (table.unpack or unpack)(KEYS))`
const VALUE = `local value = key == KEYS[index - 1] and key ~= lost and redis.call('GET', key) or only or values and values[index]`
const MISSING = "#KEYS == 1 or redis.call('EXISTS', key) == 0"
const AT_ONCE = 'reply[n + 1], reply[n + 2], reply[n + 3], n = remaining, resetAfterMs, laterMs, n + 3'
const DELAYED = `if delayMs > 0 then
  reply[n + 1], n = -3 - delayMs, n + 1
end
${AT_ONCE}`
const DELAY = '. Less: -3 - delayMs, allowed after that wait: remaining, resetAfterMs, nextAfterMs'
// What keeps its TTL is changed in place: that takes less than to set it.
const KEEPING = 'if keepsTtl and time and not hasBlock and not front then'
const SETTING = `local stored = isTaken and WRITE
stored = front and front .. stored or stored
stored = hasBlock and struct.pack('<ddd', -math.huge, beganMs, untilMs) .. stored or stored
local endMs = time and ttlMs or ttlMs + 60000
isKnown = redis.call('SET', key, stored, 'PX', math.tointeger and math.tointeger(endMs) or endMs, isNew and 'NX' or 'XX') ~= false`
