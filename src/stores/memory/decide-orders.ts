import { decideTogether, type JointRuling } from '../../core/decide-together.ts'
import type { Ruling } from '../../core/entry.ts'
import type { Order } from '../../core/store.ts'
import type { MemoryShelf } from './memory-shelf.ts'
import type { Found } from './space.ts'

/** A part of a decision on a shelf in memory. */
export interface MemoryOrder extends Order {
  readonly shelf: MemoryShelf
}

/** Decides over several keys in memory, and keeps what has changed only when there is room for all of it. */
export function decideOrders(orders: readonly MemoryOrder[], nowMs: number, forgetsByMs: number): JointRuling {
  for (const { shelf } of orders) shelf.space.reclaim(forgetsByMs)
  const founds = orders.map(({ shelf, key }) => shelf.space.find(key, forgetsByMs))
  let joint = decideFound(orders, founds, nowMs)
  for (;;) {
    const crowded = orders.findIndex(({ shelf, key, rule }, index) => {
      return !shelf.space.hasRoom(key, founds[index] as Found, joint.rulings[index] as Ruling, rule, nowMs)
    })
    const order = orders[crowded]
    if (order === undefined) break
    founds[crowded] = order.shelf.space.findShared(founds[crowded] as Found)
    joint = decideFound(orders, founds, nowMs)
  }
  for (const [index, { shelf, key }] of orders.entries()) {
    shelf.space.keep(key, founds[index] as Found, joint.rulings[index] as Ruling, nowMs)
  }
  return joint
}

function decideFound(orders: readonly MemoryOrder[], founds: readonly Found[], nowMs: number): JointRuling {
  const parts = orders.map(({ rule, request, shadow }, index) => {
    return { rule, request, shadow, entry: founds[index] as Found }
  })
  return decideTogether(parts, nowMs)
}
