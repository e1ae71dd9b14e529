import type { Rule } from '../../core/rule.ts'
import type { KeyState } from '../../engine/key-state.ts'

/** A state as a text, which holds all that has to be stored of it: also by which parameters it was counted, where those may change. */
export function encodeState({ state, block, holds, grants, countedBy, convertedOnRefusal }: KeyState): string {
  return JSON.stringify({ state, block, holds, grants, countedBy: countedBy?.parameters, convertedOnRefusal })
}

/**
 * The state of a text.
 *
 * @param rule a rule of the kind that counted it.
 */
export function decodeState(text: string, rule: Rule): KeyState {
  const { countedBy, ...rest } = JSON.parse(text)
  return { ...rest, countedBy: countedBy && rule.withParameters?.(countedBy) }
}
