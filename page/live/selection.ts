import type { LivePolicy, LiveSecond } from '../../src/observe/live-report.ts'

/** What the time line shows: everything, one policy, or one tier of it. */
export interface Selection {
  readonly policy?: string
  readonly tier?: string
}

/** A choice of the menu. */
export interface SelectionChoice {
  /** Stands for the selection in a form: no two have the same. */
  readonly value: string
  readonly label: string
  readonly selection: Selection
}

/** Everything there is to choose from. A policy of one rule has no tiers to tell apart. */
export function listChoices(policies: readonly LivePolicy[]): SelectionChoice[] {
  const choices: SelectionChoice[] = [createChoice('All policies', {})]
  for (const { name, tiers } of policies) {
    choices.push(createChoice(name, { policy: name }))
    if (tiers.length < 2) continue
    for (const tier of tiers) choices.push(createChoice(`${name} › ${tier.name}`, { policy: name, tier: tier.name }))
  }
  return choices
}

/** The choice a form named, or everything: the policies may have changed since. */
export function resolveChoice(choices: readonly SelectionChoice[], value: string): SelectionChoice {
  return choices.find((candidate) => candidate.value === value) ?? (choices[0] as SelectionChoice)
}

/** What was decided in a second under a selection. Under a tier: what its policy allowed, and what the tier itself refused. */
export function countSecond(second: LiveSecond, { policy, tier }: Selection): { allowed: number; refused: number } {
  if (policy === undefined) return { allowed: second.allowed, refused: second.refused }
  const counts = Object.hasOwn(second.byPolicy, policy) ? second.byPolicy[policy] : undefined
  if (counts === undefined) return { allowed: 0, refused: 0 }
  if (tier === undefined) return { allowed: counts.allowed, refused: counts.refused }
  const refused = Object.hasOwn(counts.byTier, tier) ? counts.byTier[tier] : undefined
  return { allowed: counts.allowed, refused: refused ?? 0 }
}

function createChoice(label: string, selection: Selection): SelectionChoice {
  return { value: JSON.stringify([selection.policy, selection.tier]), label, selection }
}
