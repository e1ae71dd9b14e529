import { assembleHot, hotParameters } from './hot.mjs'
import { readFunctions, readLua, readRule, ruleNames } from './read-rule.mjs'

const TIERS = 'tiers'
const HOT = '-hot'
const FRAME = ['holds', 'entry', 'frame', 'requests', 'decide']
const FRAMED = ['readEntry', 'noteEntry', 'steady', 'judge', 'decide', 'holding', 'asking']
const LIBRARY = /\b(?:math\.(?:max|min|floor|ceil)|struct\.(?:pack|unpack))\b/g

/** The names of all scripts: a hot one and a full one for each rule, and one that decides over several rules at once. */
export function scriptNames() {
  return [...ruleNames().flatMap((name) => [name, `${name}${HOT}`]), TIERS]
}

/** The text of a script: header, prelude, the rule's function or all of them, and a main. */
export function assemble(name, version) {
  if (name.endsWith(HOT)) return assembleHot(name.slice(0, -HOT.length), version)
  return name === TIERS ? assembleTiers(version) : assembleRule(name, version)
}

/** The names of the arguments that a script takes for its rule: those that are always given, and those that have a default. */
export function argumentNames(name) {
  if (name === TIERS) return { required: [], optional: [] }
  if (name.endsWith(HOT)) {
    return { required: hotParameters(name.slice(0, -HOT.length)).map((parameter) => parameter.name), optional: [] }
  }
  const { parameters } = readRule(name)
  const names = (isRequired) =>
    parameters.filter(({ fallback }) => (fallback === undefined) === isRequired).map((parameter) => parameter.name)
  return { required: names(true), optional: names(false) }
}

function assembleRule(name, version) {
  const rule = readRule(name)
  const numbered = numberArguments(rule)
  return joined(headerOf(rule, version, numbered), [
    ...stepOf(rule),
    part('writes'),
    frame(),
    part('keys'),
    part('runs'),
    part('reply'),
    mainOf(rule, numbered),
    plainOf(rule),
    part('main'),
  ])
}

function assembleTiers(version) {
  const main = [
    'local nowMs, isServerTime = clock(ARGV[1])',
    "local reply = decideAll(ARGV[2] or '0', nowMs, isServerTime)",
    'return math.tointeger and whole64(reply) or reply',
  ]
  const parts = [part('writes'), part('plain'), frame(), part('keys'), rulesByName(), part('tiers')]
  return joined(tiersHeader(version), [...parts, main.join('\n')])
}

function joined(header, sections) {
  const prelude = usedOf(part('prelude'), sections.join('\n'))
  return `${[header, withLocals([...prelude, ...sections].join('\n\n'))].join('\n\n')}\n`
}

/** The same text with what it calls most as locals: to find `max` in `math`, and that among the globals, takes as long as the call. */
function withLocals(text) {
  const found = [...new Set(text.match(LIBRARY))].sort()
  const localOf = (name) => name.replace('.', '_')
  const names = `local ${found.map(localOf).join(', ')} = ${found.join(', ')}`
  return `${names}\n\n${text.replaceAll(LIBRARY, localOf)}`
}

/** The plain decision of one rule, with nothing between it and the rule's function: a call of a function costs a tenth of it. */
function plainOf({ parameters, valid }) {
  const names = parameters.map((parameter) => parameter.name)
  return part('plain')
    .replaceAll('rule.step(', `step(${names.join(', ')}, `)
    .replaceAll('rule.limit', names[0])
    .replaceAll('rule.timeOf(value)', `(${valid.replaceAll(/\bstate\b/g, 'value')})`)
}

function stepOf({ needs, step }) {
  return needs === undefined ? [step] : [readFunctions(`rules/${needs}.lua`), step]
}

/** What only some decisions need, as one function: made when one comes, and then once. Every function that is made costs every call. */
function frame() {
  const made = FRAMED.map((name) => `${name} = ${name}`).join(', ')
  return [
    '-- What only some decisions need. Made when one comes, and then once: every function that is made costs every call.',
    'local frameFunctions',
    'local function frame()',
    '  if frameFunctions then\n    return frameFunctions\n  end\n',
    FRAME.map((name) => indented(part(name))).join('\n\n'),
    `\n  frameFunctions = { ${made} }`,
    '  return frameFunctions',
    'end',
  ].join('\n')
}

function part(name) {
  return readLua(`stores/redis/lua/${name}.lua`)
}

/** What the script uses of the prelude: a function that is made at every call and never used would cost every call. */
function usedOf(prelude, script) {
  return prelude.split(/\n\n/).filter((block) => {
    const name = /^local function (\w+)/m.exec(block)?.[1]
    return name === undefined || script.includes(`${name}(`)
  })
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
  return header(`${name}, version ${version}: ${purpose}`, [
    ['KEYS[1..n]', 'what the state of each subject is kept under; on a Cluster all in one slot'],
    ...numbered.map((argument) => [`ARGV[${argument.place}]`, `${argument.name}: ${argument.text}`]),
    ['t*', 'before all of a request: it is made t times, one right after the other'],
    ['=', 'before the first request: it is the only one and for all keys, and what follows comes right after it'],
    ['returns', REPLY],
    ['state', state],
  ])
}

function tiersHeader(version) {
  const purpose = 'one decision over several rules: what is taken is taken from all of them or from none.'
  return header(`${TIERS}, version ${version}: ${purpose}`, [
    ['KEYS[1..n]', "what each tier's state of its subject is kept under; on a Cluster all in one slot"],
    ['KEYS[n+1]', 'with an idMs, what the answer to this request is kept under'],
    ['ARGV[1]', `nowMs: ${NOW}`],
    [
      'ARGV[2]',
      `idMs: how long the same id gets the same reply, in milliseconds, whole number from 0 to ${LONGEST_MS}, default 0`,
    ],
    [
      'ARGV[3..]',
      'for each tier the name of a rule, its parameters in the order below, - for a default, and a request',
    ],
    ...ruleNames().map((name) => {
      const { required, optional } = argumentNames(name)
      return ['', `${name} ${[...required, ...optional].join(' ')} request`]
    }),
    ['request', REQUEST.replace('key', 'tier').replace('; default 1', '')],
    ['shadow:', 'before a request: the tier counts what passes, and never refuses'],
    ['changing:', 'before all of that: the parameters may change, and the state says by which ones it was counted'],
    ['d*', DECISIONS],
    ['returns', `${REPLY.replace('key', 'tier')}; and at last for each tier the time of its decision`],
  ])
}

function header(title, rows) {
  const lines = rows.map(([what, text]) => `-- ${what.padEnd(12)} ${text}`)
  return [`-- sluice ${title}`, '--', ...lines].join('\n')
}

function mainOf(rule, numbered) {
  const read = numbered.filter(({ name }) => name !== 'nowMs' && name !== 'request')
  const firstRequest = numbered.findIndex((argument) => argument.name === 'request') + 1
  return [
    `local firstRequest = ${firstRequest}`,
    '-- One for all keys, or one for each.',
    "local forAll = string.match(ARGV[firstRequest] or '', '^=(.+)$')",
    'local requests = forAll and 1 or #KEYS',
    ...read.map((argument) => readArgument(argument, argumentAt(argument))),
    ...checkOf(rule),
    `local nowMs, isServerTime = clock(ARGV[${firstRequest - 1}])`,
    '',
    `local rule = ${tableOf(rule)}`,
  ].join('\n')
}

/** The rule that a name and its parameters in args[at..] stand for. What a branch does not need is not made. */
function rulesByName() {
  const names = ruleNames()
  const branches = names.map((name, index) => {
    const rule = readRule(name)
    const { required, optional } = argumentNames(name)
    const order = [...required, ...optional]
    const read = order.map((parameter, at) => {
      const argument = rule.parameters.find((candidate) => candidate.name === parameter)
      const given = `args[at + ${at}]`
      return readArgument(argument, argument.fallback === undefined ? given : `open(${given})`)
    })
    const body = [...stepOf(rule), [...read, ...checkOf(rule), `return ${tableOf(rule, order.length)}`].join('\n')]
    return `${index === 0 ? 'if' : 'elseif'} name == '${name}' then\n${indented(body.join('\n\n'))}`
  })
  const unknown = [
    `local known = '${names.join(', ')}'`,
    "return error('sluice: a rule is ' .. known .. ', got ' .. tostring(name), 0)",
  ]
  return [
    "local function open(text)\n  return text ~= '-' and text or nil\nend\n",
    'local function ruleOf(name, args, at)',
    indented([...branches, 'end', ...unknown].join('\n')),
    'end',
  ].join('\n')
}

function indented(text) {
  return text.replace(/^(?=.)/gm, '  ')
}

function checkOf({ exact }) {
  return exact === undefined ? [] : [`exactly('${exact}', ${exact})`]
}

function tableOf({ name, parameters, holds, valid }, size) {
  const names = parameters.map((parameter) => parameter.name).join(', ')
  return [
    '{',
    ...(size === undefined ? [] : [`  name = '${name}',`, `  size = ${size},`]),
    `  limit = ${parameters[0].name},`,
    `  holds = '${holds}',`,
    '  timeOf = function(state)',
    `    return ${valid}`,
    '  end,',
    '  step = function(state, timeMs, cost, force, takenMs)',
    `    return step(${names}, state, timeMs, cost, force, takenMs)`,
    '  end,',
    '}',
  ].join('\n')
}

function argumentAt({ place }) {
  return `ARGV[${place.endsWith('+n') ? `${place.slice(0, -2)} + requests` : place}]`
}

function readArgument({ name, least, most, choices, fallback }, argument) {
  const given = fallback === undefined ? argument : `${argument} or ${choices ? `'${fallback}'` : fallback}`
  const check = choices
    ? `choice('${name}', ${given}, '${choices.join("', '")}')`
    : `whole('${name}', ${given}, ${least}${most === undefined ? '' : `, ${most}`})`
  return `local ${name} = ${check}`
}

/** Ten calendar years. */
const LONGEST_MS = 315_619_200_000
const NOW = "time in milliseconds, whole number >= 0, or -1 for the server's, default -1"
const REQUEST =
  'of each key a cost, whole number >= 1, or peek:cost, charge:amount, refund:amount[:takenMs], reserve:amount:id:milliseconds, settle:id:used, extend:id:milliseconds, block:milliseconds, unblock, reset; after a cost or reserve :blockFor:milliseconds; default 1'
const DECISIONS =
  'instead of idMs: the keys are those of d decisions over the same tiers, and the requests of the second and all later ones come after the tiers'
const REPLY =
  'for each key five integers: allowed 0|1, remaining, retryAfterMs (-1: never; allowed: nextAfterMs, the time until more than remaining would pass), resetAfterMs, waitMs (allowed: before going on; refused: left of a block)'
