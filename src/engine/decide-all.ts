import { asPeek, isTaking, type Operation } from '../core/operation.ts'
import { decide } from './decide.ts'
import { peekGrant } from './grant.ts'
import type { KeyState, Transition } from './key-state.ts'

/** What a decision over several keys says of each of them, and whether all that count have passed. */
export interface JointTransition {
  readonly allowed: boolean
  readonly transitions: readonly Transition[]
}

/**
 * Decides over several keys at once: what consumes or reserves is taken from all of them or from none. An operation that passes when
 * another is refused says so, and takes nothing; one of a limit in shadow mode that is refused takes nothing and hinders no other.
 *
 * @param stored what is stored of each operation's key.
 */
export function decideAll(
  operations: readonly Operation[],
  stored: readonly KeyState[],
  nowMs: number,
): JointTransition {
  const transitions = operations.map((operation, index) => decide(operation, stored[index] as KeyState, nowMs))
  const allowed = operations.every((operation, index) => {
    return operation.limit.shadow || !isTaking(operation) || (transitions[index] as Transition).allowed
  })
  if (allowed) return { allowed, transitions }
  return {
    allowed,
    transitions: operations.map((operation, index) => {
      const transition = transitions[index] as Transition
      if (!isTaking(operation) || !transition.allowed) return transition
      const before = stored[index] as KeyState
      return operation.type === 'grant' ? peekGrant(operation, before, nowMs) : decide(asPeek(operation), before, nowMs)
    }),
  }
}
