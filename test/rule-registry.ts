import { existsSync, readdirSync } from 'node:fs'
import fc from 'fast-check'
import type { Rule } from '../src/core/rule.ts'
import type { WorkedExample } from '../src/core/worked-example.ts'
import * as exportedRules from '../src/rules/index.ts'
import type { RuleForm } from '../src/rules/rule-form.ts'
import type { RulePromise } from './rule-promise.ts'
import type { RuleMode, RuleSamples, SampleNumbers } from './rule-samples.ts'

/** Everything that the folder of a rule says of it. */
export interface DescribedRule {
  /** The name of the folder, such as `token-bucket`. */
  readonly name: string
  /** How people ask for it: by its own name first, and by others. */
  readonly forms: readonly [RuleForm, ...RuleForm[]]
  readonly examples: readonly WorkedExample[]
  readonly promises: readonly RulePromise[]
  readonly samples: RuleSamples
}

const FOLDER = new URL('../src/rules/', import.meta.url)

/** The names of all rules, in order: each is a folder of `src/rules`. */
export const ruleNames: readonly string[] = readdirSync(FOLDER, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .sort()

/** All rules. Every test that is about all of them reads this. */
export const everyRule: readonly DescribedRule[] = await Promise.all(ruleNames.map(describedRule))

/** All modes of all rules. */
export const everyMode: readonly RuleMode[] = everyRule.flatMap(({ samples }) => samples.modes)

/** The names that a file of policies and the command line take, in order: those of the rules, and other names for them. */
export const formNames: readonly string[] = everyRule.flatMap(({ forms }) => forms.map(({ name }) => name)).sort()

/** The functions that make rules, by name. */
const factories = exportedRules as unknown as Readonly<Record<string, (options: object) => Rule>>

/** The rule of a mode with these numbers. */
export function ruleOf({ factory, options }: Pick<RuleMode, 'factory' | 'options'>, numbers: SampleNumbers): Rule {
  return madeBy(factory, options(numbers))
}

/** The rule that a factory makes, by its name. */
export function madeBy(factory: string, options: object): Rule {
  const make = factories[factory]
  if (make === undefined) throw new Error(`src/rules/index.ts exports no ${factory}`)
  return make(options)
}

/** Ordinary numbers, where a test needs some rule of a mode and no particular one. */
export const GOOD: SampleNumbers = { limit: 10, timeMs: 1_000, rate: 10, parts: 10 }

/** Random numbers for a rule; those that are left out are always the same. */
export interface RandomNumbers {
  readonly limit: fc.Arbitrary<number>
  readonly timeMs: fc.Arbitrary<number>
  readonly rate: fc.Arbitrary<number>
  readonly parts?: fc.Arbitrary<number>
  readonly maxDebt?: fc.Arbitrary<number>
}

/** Random rules of one mode. */
export function randomRules(
  mode: RuleMode,
  { parts = fc.constant(10), ...numbers }: RandomNumbers,
): fc.Arbitrary<Rule> {
  return fc.record({ ...numbers, parts }).map((some) => ruleOf(mode, some))
}

/** Whether what a mode takes comes back at a rate, over a time that grows with the limit. */
export function isSteady(mode: RuleMode): boolean {
  return ruleOf(mode, GOOD).replenishes === 'continuously'
}

async function describedRule(name: string): Promise<DescribedRule> {
  const [{ promises }, { samples }, formFile, exampleFile] = await Promise.all([
    fileOf(name, 'promises'),
    fileOf(name, 'samples'),
    fileOf(name, 'form'),
    fileOf(name, 'examples'),
  ])
  const all = Object.values(formFile as unknown as Record<string, RuleForm>)
  const own = all.find((form) => form.name === name)
  if (own === undefined) throw new Error(`src/rules/${name}/${name}.form.ts exports no form of the name ${name}`)
  const examples = Object.values(exampleFile as unknown as Record<string, readonly WorkedExample[]>).flat()
  return { name, forms: [own, ...all.filter((form) => form !== own)], examples, promises, samples }
}

interface RuleFile {
  readonly promises: readonly RulePromise[]
  readonly samples: RuleSamples
}

async function fileOf(name: string, part: string): Promise<RuleFile> {
  if (!existsSync(new URL(`${name}/${name}.${part}.ts`, FOLDER)))
    throw new Error(`src/rules/${name} has no ${name}.${part}.ts: npm run new-rule shows what a folder holds`)
  return import(`../src/rules/${name}/${name}.${part}.ts`)
}
