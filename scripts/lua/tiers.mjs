import { allOf, hotParameters, indent, listConditions, readValue } from './hot.mjs'
import { nameLocals } from './name-locals.mjs'
import { readBlocks, readLua, readRule, ruleNames } from './read-rule.mjs'

// The hot script over several rules is tiers.lua with the blocks of all rules in it, and makes no function.

/** The text of the hot script over several rules. */
export function assembleTiers(version) {
  const rules = ruleNames().map((name) => ({ ...readRule(name), own: hotParameters(name), blocks: readBlocks(name) }))
  const parts = { arguments: choose('name', rules, readTier), tiers: choose('tier.name', rules, decideTier) }
  const script = readLua('stores/redis/lua/tiers.lua').replace(/^( *)-- @(\w+)\n/gm, (_, spaces, part) => {
    return `${indent(parts[part], spaces)}\n`
  })
  return `${writeHeader(rules, version)}\n\n${nameLocals(script)}\n`
}

function choose(what, rules, body) {
  const branches = rules.map((rule, index) => {
    return `${index === 0 ? 'if' : 'elseif'} ${what} == '${rule.name}' then\n${indent(body(rule), '  ')}`
  })
  return [...branches, 'end'].join('\n')
}

function readTier(rule) {
  const { name, own, needs } = rule
  const names = own.map((parameter) => parameter.name)
  const fields = [`name = '${name}'`, ...names.map((one) => `${one} = ${one}`)]
  return [
    `local ${names.join(', ')} = ${own.map((one, index) => readValue(one, `ARGV[at + ${index + 1}]`)).join(', ')}`,
    ...allOf('isRight', listConditions(rule, own)),
    `tiers[index], at = { ${fields.join(', ')} }, at + ${names.length + 2}`,
    ...(needs.includes('timeline') ? ['tiers[index].isTimeline, hasTimelines = true, true'] : []),
  ].join('\n')
}

function decideTier({ own, blocks, plain }) {
  const names = own.map((parameter) => parameter.name)
  const isDelaying = blocks.step.includes('delayMs')
  return [
    `local ${names.join(', ')} = ${names.map((one) => `tier.${one}`).join(', ')}`,
    `isKnown = isKnown and amount <= ${names[0]} and (not isStored or (${plain}))`,
    ...(blocks.setup === '' ? [] : [blocks.setup]),
    blocks.read.replace(/, keepsTtl = (.+), false$/m, ' = $1').replace(/^local keepsTtl = false$/m, ''),
    blocks.step,
    'if passes and take then',
    indent(blocks.write, '  '),
    'end',
    'if front and not passes then',
    indent(blocks.late, '  '),
    'end',
    `isPassing, left, resetMs, waitMs${isDelaying ? ', delayedMs' : ''} = passes, remaining, resetAfterMs, laterMs${isDelaying ? ', delayMs' : ''}`,
  ].join('\n')
}

function writeHeader(rules, version) {
  const rows = [
    ['KEYS[1..n*d]', 'state of each subject, by decision and tier; on a Cluster all in one slot'],
    ['ARGV[1]', "nowMs: time in milliseconds, whole number >= 0, or -1 for the server's"],
    ['ARGV[2]', 'd: how many decisions, one after the other; what one takes the next sees'],
    [
      'ARGV[3..]',
      'for each of n tiers the name of a rule, its parameters, and for how many milliseconds a refusal blocks the key:',
    ],
    ...rules.map(({ name, own }) => ['', `${name} ${own.map((parameter) => parameter.name).join(' ')} blockMs`]),
    [
      '',
      'then for each tier of each decision a cost, whole number >= 1; a negative cost only looks; n of them serve all decisions',
    ],
    ['returns', 'integers. Allowed: remaining, resetAfterMs, nextAfterMs. Anything else starts with a status:'],
    ['', '-1 over the limit: remaining, resetAfterMs, retryAfterMs. -2 blocked: blockedMs, resetAfterMs, retryAfterMs'],
    ['', '-3, for all tiers of a decision, nothing decided, nothing written, ask sluice.lua: 0, 0, 0'],
    ['', 'Less: -3 - delayMs, allowed after that wait: remaining, resetAfterMs, nextAfterMs'],
  ]
  const lines = rows.map(([what, text]) => `-- ${what.padEnd(12)} ${text}`)
  return [`-- sluice tiers, version ${version}: ${PURPOSE}`, '--', ...lines].join('\n')
}

const PURPOSE = 'consume and peek over several limits at once: what is taken is taken from all of them or from none.'
