import type { Operation } from '../../core/operation.ts'
import { decideAll, type JointTransition } from '../../engine/decide-all.ts'
import type { Transition } from '../../engine/key-state.ts'
import type { Found, Keyspace } from './keyspace.ts'
import type { Keyspaces } from './keyspaces.ts'

/** Decides over several keys in memory, and keeps what has changed only when there is room for all of it. */
export function decideJointly(
  operations: readonly Operation[],
  registered: Keyspaces,
  nowMs: number,
  forgetsByMs: number,
): JointTransition {
  const keyspaces = operations.map(({ limit }) => registered.find(limit).keyspace)
  for (const keyspace of keyspaces) keyspace.reclaim(forgetsByMs)
  const founds = operations.map(({ key }, index) => (keyspaces[index] as Keyspace).find(key, forgetsByMs))
  let joint = decideAll(operations, founds, nowMs)
  for (;;) {
    const crowded = operations.findIndex(({ key, rule }, index) => {
      const keyspace = keyspaces[index] as Keyspace
      return !keyspace.hasRoom(key, founds[index] as Found, joint.transitions[index] as Transition, rule, nowMs)
    })
    const keyspace = keyspaces[crowded]
    if (keyspace === undefined) break
    founds[crowded] = keyspace.findShared(founds[crowded] as Found)
    joint = decideAll(operations, founds, nowMs)
  }
  for (const [index, { key }] of operations.entries()) {
    const keyspace = keyspaces[index] as Keyspace
    keyspace.keep(key, founds[index] as Found, joint.transitions[index] as Transition, nowMs)
  }
  return joint
}
