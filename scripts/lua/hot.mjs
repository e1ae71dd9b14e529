import { readBlocks, readLua, readRule } from './read-rule.mjs'

// A hot script is hot.lua with the blocks of one rule in it, and makes no function. A block starts with its name, `-- @step`, in the
// rule's own file or in the one that it needs.

const LIBRARY = /\b(?:redis\.call|math\.(?:max|min|floor|ceil)|struct\.(?:pack|unpack)|string\.sub)\b/g

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
  const parts = {
    ...blocks,
    write: `${blocks.write.replace(/^stored = /, 'stored = isTaken and ')} or value or ''`,
    arguments: readArguments(rule, parameters),
    allowed: isDelaying ? DELAYED : AT_ONCE,
    set: blocks.read.includes('keepsTtl') ? `${KEEPING}\n${indent(SETTING, '  ')}\nend` : SETTING,
  }
  const script = readLua('stores/redis/lua/hot.lua')
    .replace(/^( *)-- @(\w+)\n/gm, (_, spaces, part) => (parts[part] === '' ? '' : `${indent(parts[part], spaces)}\n`))
    .replaceAll('isPlain(value)', `(${rule.plain})`)
    .replaceAll('FIRST', `${parameters.length + 2}`)
    .replaceAll(/\blimit\b/g, parameters[0].name)
  return `${[writeHeader(rule, version, parameters, isDelaying), nameLocals(script)].join('\n\n')}\n`
}

/** The arguments as locals, and one check of all of them: what is not a whole number leaves a part, and NaN equals nothing. */
function readArguments({ name, exact }, parameters) {
  const size = parameters.length
  const numbers = [
    ...parameters.filter(({ choices }) => choices === undefined).map((one) => one.name),
    'nowMs',
    'blockMs',
  ]
  const values = parameters.map(({ choices }, index) =>
    choices ? `ARGV[${index + 1}]` : `tonumber(ARGV[${index + 1}])`,
  )
  const ranges = parameters.map(({ name: one, choices, least, most }) => {
    if (choices !== undefined) return `(${choices.map((choice) => `${one} == '${choice}'`).join(' or ')})`
    return `${one} >= ${least}${most === undefined ? '' : ` and ${one} <= ${most}`}`
  })
  // What no cost can reach needs no room.
  const product = parameters.some((one) => one.name === 'maxDebt')
    ? exact
    : exact?.replace('(limit + maxDebt)', 'limit')
  const taken = [...parameters.map((one) => one.name), 'nowMs', 'blockMs', 'cost...'].join(' ')
  const conditions = [
    ...numbers,
    `${numbers.map((one) => `${one} % 1`).join(' + ')} == 0`,
    ...ranges,
    ...['nowMs >= -1', 'blockMs >= 0', `${numbers.join(' + ')} <= 4 * EXACT`],
    ...(product === undefined ? [] : [`${product} <= EXACT`]),
  ]
  return [
    `local ${parameters.map((one) => one.name).join(', ')} = ${values.join(', ')}`,
    `local nowMs, blockMs, shared = tonumber(ARGV[${size + 1}] or -1), tonumber(ARGV[${size + 2}] or 0), ARGV[${size + 3}] or '1'`,
    ...allOf('isRight', conditions),
    'if not isRight then',
    `  error('sluice: ${name} takes ${taken} as its first lines say, got ' .. table.concat(ARGV, ' '), 0)`,
    'end',
  ].join('\n')
}

/** The conditions as statements, as many of them in a line as a person would write. */
function allOf(name, conditions) {
  const lines = [`local ${name} = ${conditions[0]}`]
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
    ['', `-3 nothing decided, nothing written, ask the full script: 0, 0, 0${isDelaying ? DELAY : ''}`],
    ['state', state],
  ]
  const lines = rows.map(([what, text]) => `-- ${what.padEnd(11)} ${text}`.trimEnd())
  return [`-- sluice ${name}, version ${version}: ${purpose}`, '--', ...lines].join('\n')
}

/** The same text with what it calls as locals: to find `max` in `math`, and that among the globals, takes as long as the call. */
function nameLocals(text) {
  const found = [...new Set(text.match(LIBRARY))].sort()
  const local = (name) => (name === 'redis.call' ? 'call' : name.replace('.', '_'))
  return [
    `local KEYS, ARGV, EXACT, ${found.map(local).join(', ')} = KEYS, ARGV, 9007199254740991, ${found.join(', ')}`,
    text.replaceAll(LIBRARY, local),
  ].join('\n')
}

function indent(text, spaces) {
  return text.replace(/^(?=.)/gm, spaces)
}

const AT_ONCE = 'reply[n + 1], reply[n + 2], reply[n + 3], n = remaining, resetAfterMs, laterMs, n + 3'
const DELAYED = `if delayMs == 0 then
${indent(AT_ONCE, '  ')}
else
  reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4], n = -3 - delayMs, remaining, resetAfterMs, laterMs, n + 4
end`
const DELAY = '. Less: -3 - delayMs, allowed after that wait: remaining, resetAfterMs, nextAfterMs'
const KEEPING = `if keepsTtl and isServerTime and not hasBlock then
  redis.call('SET', key, stored, 'KEEPTTL')
else`
const SETTING = `local ttl = string.format('%.0f', isServerTime and ttlMs or ttlMs + 60000)
isKnown = redis.call('SET', key, stored, 'PX', ttl, isNew and 'NX' or 'XX') ~= false`
