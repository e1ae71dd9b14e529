import { ask } from './ask.ts'
import type { ClusterNode, RunningCluster } from './start-cluster.ts'

/** How far a move is: the slot is marked on both sides, a batch of its keys has moved, the slot has its new owner. */
export type MoveStep = 'marked' | 'batch' | 'owned'

/**
 * Moves a slot with its keys from one primary to another while the cluster goes on serving: until the end, clients are
 * asked to look for missing keys at the new owner. Indexes count in `cluster.primaries`. The move waits for `onStep`,
 * so that a test can look at the cluster in between.
 */
export async function moveSlot(
  cluster: Pick<RunningCluster, 'primaries'>,
  slot: number,
  fromIndex: number,
  toIndex: number,
  onStep: (step: MoveStep) => void | Promise<void> = () => {},
): Promise<void> {
  const from = primaryAt(cluster, fromIndex)
  const to = primaryAt(cluster, toIndex)
  // In this order: the new owner must know what it is asked for before the old one sends clients there.
  await ask(to, 'CLUSTER', 'SETSLOT', slot, 'IMPORTING', from.id)
  await ask(from, 'CLUSTER', 'SETSLOT', slot, 'MIGRATING', to.id)
  await onStep('marked')
  for (;;) {
    const keys = (await ask(from, 'CLUSTER', 'GETKEYSINSLOT', slot, KEYS_PER_BATCH)) as string[]
    if (keys.length === 0) break
    await ask(from, 'MIGRATE', to.host, to.port, '', 0, LONGEST_BATCH_MS, 'KEYS', ...keys)
    await onStep('batch')
  }
  // The new owner first: between the two, the slot must have an owner.
  for (const node of new Set([to, from, ...cluster.primaries])) {
    await ask(node, 'CLUSTER', 'SETSLOT', slot, 'NODE', to.id)
  }
  await onStep('owned')
}

function primaryAt(cluster: Pick<RunningCluster, 'primaries'>, index: number): ClusterNode {
  const node = cluster.primaries[index]
  if (node === undefined) throw new Error(`the cluster has ${cluster.primaries.length} primaries, got index ${index}`)
  return node
}

/** How many keys move at once. */
export const KEYS_PER_BATCH = 10
const LONGEST_BATCH_MS = 5_000
