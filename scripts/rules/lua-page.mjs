import { hotParameters } from '../lua/hot.mjs'
import { readRule, ruleNames } from '../lua/read-rule.mjs'
import { tableText } from './table-text.mjs'

const TABLE = /(?<=^## The rules\n(?:(?!\|).*\n)+)(?:^\|.*\|\n)+/m

/** The page of the scripts with the parameters that each rule's script takes. What else it says was written by hand, and stays. */
export function luaPage(page) {
  if (!TABLE.test(page)) throw new Error('docs/lua.md has lost the table of the rules')
  const rows = ruleNames().map((name) => {
    const hot = new Set(hotParameters(name).map((parameter) => parameter.name))
    const { parameters } = readRule(name)
    const listed = parameters.map((parameter) => (hot.has(parameter.name) ? parameter.name : `[${parameter.name}]`))
    return [`\`${name}.lua\``, `\`${listed.join(' ')}\``]
  })
  return page.replace(TABLE, () => `${tableText(['script', 'parameters'], rows)}\n`)
}
