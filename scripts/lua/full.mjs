import { indent } from './hot.mjs'
import { nameLocals } from './name-locals.mjs'
import { readFunctions, readLua, readRule, ruleNames } from './read-rule.mjs'

// The full script is sluice.lua with the files that it names in it, and the functions of all rules. No function makes a function.

/** The text of the full script. */
export function assembleFull(version) {
  const rules = ruleNames().map(readRule)
  const shared = [...new Set(rules.flatMap(({ needs }) => needs))]
  const functions = [
    ...shared.map((needs) => readFunctions(`rules/${needs}.lua`)),
    ...rules.map((rule) => rule.functions).filter((text) => text !== ''),
    readRules(rules),
  ].join('\n\n')
  const script = readLua('stores/redis/lua/sluice.lua').replace(/^-- @([\w-]+)$/gm, (_, part) => {
    return part === 'rules' ? functions : readLua(`stores/redis/lua/${part}.lua`)
  })
  return `${writeHeader(rules, version)}\n\n${nameLocals(script)}\n`
}

/** The rule that a name and its parameters in args[at..] stand for. */
function readRules(rules) {
  const branches = rules.map((rule, index) => {
    const { name, parameters, exact, holds, full } = rule
    const read = parameters.map((parameter, at) => `local ${parameter.name} = ${readArgument(parameter, at)}`)
    const [, fields, kind, recounted] = /^(.+): (\w+)(, recounted)?$/.exec(full)
    const table = [
      ...[`name = '${name}'`, `size = ${parameters.length}`, `limit = ${parameters[0].name}`, `refunds = '${holds}'`],
      ...fields.split(', ').map((field) => (field.includes(' = ') ? field : `${field} = ${field}`)),
      ...['read', 'write', 'step'].map((verb) => `${verb} = ${verb}${kind}`),
      ...(recounted === undefined ? [] : [`recount = recount${kind}`]),
    ]
    const check = exact === undefined ? [] : [`exactly('${exact}', ${exact})`]
    const body = [
      ...read,
      ...check,
      `local rule = { ${table.slice(0, 4).join(', ')} }`,
      ...assign(table.slice(4)),
      'return rule',
    ]
    return `${index === 0 ? 'if' : 'elseif'} name == '${name}' then\n${indent(body.join('\n'), '  ')}`
  })
  const known = rules.map(({ name }) => name).join(', ')
  const unknown = `return error('sluice: a rule is ${known}, got ' .. tostring(name), 0)`
  return [
    '-- The rule that a name and its parameters in args[at..] stand for.',
    'local function readRule(name, args, at)',
    indent([...branches, 'end', unknown].join('\n'), '  '),
    'end',
  ].join('\n')
}

/** The fields of a rule as one assignment. */
function assign(fields) {
  const pairs = fields.map((field) => field.split(' = '))
  const names = pairs.map(([name]) => `rule.${name}`).join(', ')
  return [`${names} = ${pairs.map(([, ...value]) => value.join(' = ')).join(', ')}`]
}

function readArgument({ name, least, most, choices, fallback }, index) {
  const argument = `args[at${index === 0 ? '' : ` + ${index}`}]`
  const value = choices ? `'${fallback}'` : fallback
  const given = fallback === undefined ? argument : `${argument} ~= '-' and ${argument} or ${value}`
  if (choices) return `choice('${name}', ${given}, '${choices.join("', '")}')`
  return `whole('${name}', ${given}, ${least}${most === undefined ? '' : `, ${most}`})`
}

function writeHeader(rules, version) {
  const rows = [
    ['KEYS[1..n]', "what each tier's state of its subject is kept under; on a Cluster all in one slot"],
    ['KEYS[n+1]', 'with an idMs, what the answer to this request is kept under'],
    ['ARGV[1]', "nowMs: time in milliseconds, whole number >= 0, or -1 for the server's, default -1"],
    [
      'ARGV[2]',
      'idMs: how long the same id gets the same reply, in milliseconds, whole number from 0 to 315619200000,',
    ],
    [
      '',
      'default 0. Or d*: the keys are those of d decisions over the same tiers, and the requests of the second and all',
    ],
    ['', 'later ones come after the tiers. Or d@: the same, and after each answer the time of its decision'],
    ['ARGV[3..]', 'for each tier the name of a rule, its parameters, - for a default, and a request:'],
    ...rules.map(({ name, parameters }) => ['', `${name} ${parameters.map((one) => one.name).join(' ')} request`]),
    ['request', 'a cost, whole number >= 1, or peek:cost, charge:amount, refund:amount[:takenMs],'],
    ['', 'reserve:amount:id:milliseconds, settle:id:used, extend:id:milliseconds,'],
    ['', 'grant:amount:soon:want:id:milliseconds:least, block:milliseconds, unblock, reset;'],
    ['', 'after a grant :id:used of the one before it, and after a cost, reserve or grant :blockFor:milliseconds'],
    ['shadow:', 'before a request: the tier counts what passes, and never refuses'],
    ['changing:', 'before all of that: the parameters may change, and the state says by which ones it was counted'],
    ['returns', 'integers. Allowed: remaining, resetAfterMs, nextAfterMs. Anything else starts with a status:'],
    [
      '',
      '-1 refused: remaining, resetAfterMs, retryAfterMs (-1: never). -2 blocked: blockedMs, resetAfterMs, retryAfterMs.',
    ],
    [
      '',
      '-3 for all of them: nothing decided, and only some reservations that have expired given back. Ask again: 0, 0, 0',
    ],
    ['', 'Below -3: -3 - delayMs, allowed after that wait: remaining, resetAfterMs, nextAfterMs'],
    [
      '',
      'After that of a grant: the units that it gives, how long they last, how many grants are live, when the last of them ends',
    ],
  ]
  const lines = rows.map(([what, text]) => `-- ${what.padEnd(11)} ${text}`)
  return [`-- sluice sluice, version ${version}: ${PURPOSE}`, '--', ...lines].join('\n')
}

const PURPOSE = 'every operation, on one limit or several: what is taken is taken from all of them or from none.'
