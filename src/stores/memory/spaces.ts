import { timerNowMs } from '../../core/clock.ts'
import { encodeScope } from '../../core/key.ts'
import type { Place } from '../../core/store.ts'
import { MemoryShelf } from './memory-shelf.ts'
import { Space } from './space.ts'

/** How many deserted spaces one opening looks at: more than one, so that they go faster than they can come. */
const VISITS = 4

/** The spaces of a store by scope. One that nobody can ask any more goes as soon as nothing in it counts. */
export class Spaces {
  readonly #maxKeys: number
  readonly #spaces = new Map<string, Space>()
  /** The deserted ones, and how far the time of each is behind that of timers: it goes on as real time does. */
  readonly #deserted = new Map<string, number>()
  #evicted = 0
  #shared = 0

  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys
  }

  /** How many there are. */
  get size(): number {
    return this.#spaces.size
  }

  open(place: Place): MemoryShelf {
    this.#sweep()
    const scope = encodeScope(place)
    this.#deserted.delete(scope)
    return new MemoryShelf(place.rule, scope, this.#spaces.get(scope) ?? this.#create(scope, place))
  }

  totals(): { keys: number; blocks: number; evicted: number; shared: number } {
    const total = { keys: 0, blocks: 0, evicted: this.#evicted, shared: this.#shared }
    for (const space of this.#spaces.values()) {
      total.keys += space.keys
      total.blocks += space.blocks
      total.evicted += space.evicted
      total.shared += space.shared
    }
    return total
  }

  clear(): void {
    this.#spaces.clear()
    this.#deserted.clear()
  }

  #create(scope: string, { rule, changing }: Place): Space {
    const deserted = (): void => {
      // The store may have been closed, and opened again, meanwhile.
      if (this.#spaces.get(scope) === space) this.#visit(scope, timerNowMs(undefined) - space.lastMs)
    }
    const space = new Space(this.#maxKeys, rule.packed ?? rule.cells, changing === true, deserted)
    this.#spaces.set(scope, space)
    return space
  }

  #sweep(): void {
    let visits = 0
    for (const [scope, behindMs] of this.#deserted) {
      if (visits++ === VISITS) return
      this.#deserted.delete(scope)
      this.#visit(scope, behindMs)
    }
  }

  #visit(scope: string, behindMs: number): void {
    const space = this.#spaces.get(scope) as Space
    if (!space.isUntouched(timerNowMs(undefined) - behindMs)) {
      this.#deserted.set(scope, behindMs)
      return
    }
    this.#spaces.delete(scope)
    this.#evicted += space.evicted
    this.#shared += space.shared
  }
}
