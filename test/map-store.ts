import { decide } from '../src/engine/decide.ts'
import { decideAll } from '../src/engine/decide-all.ts'
import type { LimitResult } from '../src/core/decision.ts'
import { type Entry, type Transition, UNTOUCHED } from '../src/engine/key-state.ts'
import { encodeScope } from '../src/core/key.ts'
import type { Order, Shelf, Store } from '../src/core/store.ts'

interface MapShelf extends Shelf {
  readonly scope: string
  readonly changing: boolean
}

/** The frame and nothing else: keeps everything in a map and forgets nothing, whatever the clock does. */
export function mapStore(): Store {
  const entries = new Map<string, Entry>()
  const memos = new Map<string, { readonly untilMs: number; readonly verdicts: readonly LimitResult[] }>()
  const entryOf = (name: string): Entry => entries.get(name) ?? UNTOUCHED
  const nameOf = ({ shelf, key }: Order): string => `${(shelf as MapShelf).scope}:${key}`
  return {
    kind: 'memory',
    open(place) {
      const scope = encodeScope(place)
      const shelf: MapShelf = {
        scope,
        changing: place.changing === true,
        decide(key, request, nowMs, rule = place.rule) {
          const ruling = decide(rule, entryOf(`${scope}:${key}`), request, nowMs)
          entries.set(`${scope}:${key}`, entryAfter(shelf, ruling))
          return ruling
        },
      }
      return shelf
    },
    decideAll(orders, nowMs, memo) {
      const id = memo && `${nameOf(orders[0] as Order)} ${memo.id}`
      const known = id === undefined ? undefined : memos.get(id)
      if (known !== undefined && known.untilMs > nowMs) return known.verdicts
      const parts = orders.map((order) => ({ ...order, entry: entryOf(nameOf(order)) }))
      const { allowed, rulings } = decideAll(parts, nowMs)
      for (const [index, order] of orders.entries())
        entries.set(nameOf(order), entryAfter(order.shelf as MapShelf, rulings[index] as Transition))
      if (!allowed || memo === undefined || id === undefined) return rulings
      memos.set(id, { untilMs: nowMs + memo.ms, verdicts: rulings })
      return rulings
    },
  }
}

// Only where the rule may change does a state keep the one that it was counted by.
function entryAfter({ changing }: MapShelf, ruling: Transition): Entry {
  const { state, block, holds } = ruling
  return changing ? ruling : { state, block, holds }
}
