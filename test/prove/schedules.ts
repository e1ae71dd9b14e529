import type { Rule } from '../../src/core/rule.ts'
import { type Mutant, mutants } from './mutants.ts'
import { type Played, play, type Surroundings } from './play.ts'
import { rules } from './rules.ts'

/** The same rule with less to give. */
function withLess(rule: Rule): Rule {
  const { limit, capacity, burst } = rule.parameters
  const less = limit !== undefined ? { limit: 40 } : capacity !== undefined ? { capacity: 40 } : { burst }
  return rule.withParameters?.({ ...rule.parameters, ...(less as object) }) ?? rule
}

/** What happens besides requests on one key, by its name. */
export const surroundings: Readonly<Record<string, Surroundings>> = {
  'one key': {},
  'few that hoard': { quiet: true },
  tiers: { tiers: true },
  'refunds, charges, peeks': { mix: { refunds: 4, charges: 2, peeks: 2 } },
  reservations: { mix: { holds: 6 } },
  // Without refunds: these take what is newest, and what that is depends on whether a grant has ended.
  'tiers and reservations': { tiers: true, mix: { holds: 3, charges: 1 } },
  resets: { mix: { resets: 0.5 } },
  blocks: { mix: { blocks: 0.3 } },
  'another rule': { other: withLess },
  'a clock that jumps forward': { jumps: true },
}

/** The sum of many schedules. */
export interface Summary extends Played {
  /** The first schedule that went wrong. */
  readonly seed: number | undefined
}

/** Plays a rule as often as given, from seed 1 on. */
export function playMany(rule: Rule, count: number, lengthMs: number, around: Surroundings): Summary {
  const sum = { admitted: 0, local: 0, over: 0, excused: 0, excusable: 0, late: 0 }
  let wrong: number | undefined
  for (let seed = 1; seed <= count; seed++) {
    const played = play(rule, seed, lengthMs, {}, around)
    for (const name of Object.keys(sum) as (keyof Played)[]) sum[name] += played[name]
    if (played.over > 0 || played.late > 0) wrong ??= seed
  }
  return { ...sum, seed: wrong }
}

/** How a mutant was found out: by which rule and schedule, and how many units of it went over. */
export interface Kill {
  readonly rule: string
  readonly seed: number
  readonly over: number
}

/** Plays a mutant until it lets more pass than the rule; undefined: it survives. */
export function kill(name: string, count: number, lengthMs: number): Kill | undefined {
  const { mistakes, surroundings: around, schedule, patch, rule: only } = mutants[name] as Mutant
  const undo = patch?.()
  try {
    for (let seed = 1; seed <= count; seed++) {
      for (const [ruleName, rule] of Object.entries(rules)) {
        if (only !== undefined && only !== ruleName) continue
        const over = schedule?.(mistakes?.spoil?.(rule) ?? rule) ?? play(rule, seed, lengthMs, mistakes, around).over
        if (over > 0) return { rule: ruleName, seed, over }
      }
    }
    return undefined
  } finally {
    undo?.()
  }
}
