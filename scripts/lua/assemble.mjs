import { assembleFull } from './full.mjs'
import { assembleHot, hotParameters } from './hot.mjs'
import { ruleNames } from './read-rule.mjs'
import { assembleTiers } from './tiers.mjs'

/** The scripts that are not a rule's own: the one that does everything, and the hot one over several rules. */
const FULL = 'sluice'
const TIERS = 'tiers'

/** The names of all scripts: a hot one for each rule, one over several rules, and one for everything else. */
export function scriptNames() {
  return [...ruleNames(), FULL, TIERS]
}

/** The text of a script. */
export function assemble(name, version) {
  if (name === FULL) return assembleFull(version)
  return name === TIERS ? assembleTiers(version) : assembleHot(name, version)
}

/** The names of the arguments that a script takes for its rule, in order. */
export function parameterNames(name) {
  return name === FULL || name === TIERS ? [] : hotParameters(name).map((parameter) => parameter.name)
}
