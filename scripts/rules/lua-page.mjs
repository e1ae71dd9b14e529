import { assemble } from '../lua/assemble.mjs'
import { ruleNames } from '../lua/read-rule.mjs'
import { tableText } from './table-text.mjs'

const REQUEST = 'for each key a cost or one of [the words](#what-you-can-ask), default 1'
const TIERS = '### tiers\n'
const TIER_ROWS = /(?:^\| +\| +\| `[\w-]+ .* request` +\|\n)+/m

/**
 * The page of the scripts with what their headers say: of each rule its purpose, arguments and state, and what `tiers` takes. A rule that
 * the page does not have comes last. What else a section says was written by hand, and stays.
 */
export function luaPage(page) {
  let text = page
  for (const name of ruleNames()) {
    const header = headerOf(name)
    const own = sectionOf(name).exec(text)?.[0]
    if (own === undefined) text = text.replace(TIERS, () => newSection(name, header) + TIERS)
    else text = text.replace(own, () => updated(own, name, header))
  }
  const [, tiers = ''] = text.split(TIERS)
  const [rows] = TIER_ROWS.exec(tiers) ?? []
  if (rows === undefined) throw new Error('docs/lua.md has lost the table of tiers')
  return text.replace(rows, () => tierRows(rows))
}

function sectionOf(name) {
  return new RegExp(`^### ${name}\n[\\s\\S]*?(?=^### )`, 'm')
}

function newSection(name, header) {
  const page = `Page of the rule: [${name.replaceAll('-', ' ')}](../src/rules/${name}/${name}.md).`
  return `### ${name}\n\n${header.purpose}\n\n${page}\n\n${header.table}\n\n${header.state}\n\n`
}

function updated(section, name, { purpose, table, state }) {
  return section
    .replace(/(?<=^### .+\n\n).+/, () => purpose)
    .replace(/(?:^\|.*\|\n)+/m, () => `${table}\n`)
    .replace(new RegExp(`^State \`${name}@.+$`, 'm'), () => state)
}

function headerOf(name) {
  const [header] = assemble(name, 1).split('\n\n')
  const line = (start) => new RegExp(`^-- ${start} *(.+)$`, 'm').exec(header)[1]
  const taken = [...header.matchAll(/^-- (ARGV\S+) +(\w+): (.+)$/gm)].map(([, place, argument, text]) => [
    `\`${place}\``,
    `\`${argument}\``,
    argument === 'request' ? REQUEST : text,
  ])
  const purpose = line(`sluice ${name}, version 1:`)
  return {
    purpose: purpose[0].toUpperCase() + purpose.slice(1),
    table: tableText(['place', 'name', 'meaning'], [['`KEYS[1..n]`', '', line('KEYS\\[1..n\\]')], ...taken]),
    state: `State ${line('state').replace(/^(\S+):/, '`$1`:')}.`,
  }
}

/** The rows of all rules, as wide as those that are there. */
function tierRows(rows) {
  const [first] = rows.split('\n')
  const [start] = /^\| +\| +\| /.exec(first)
  const taken = [...assemble('tiers', 1).matchAll(/^-- {14}([\w-]+ .+ request)$/gm)]
  return taken.map(([, text]) => `${start}${`\`${text}\``.padEnd(first.length - start.length - 2)} |\n`).join('')
}
