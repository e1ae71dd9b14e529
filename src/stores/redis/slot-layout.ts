import { isCrossSlot } from './clients/server-words.ts'
import { slotOf } from './slot-of.ts'

/** What has been learned of where keys lie: all on one server until a Cluster says otherwise. */
export class SlotLayout {
  isCluster = false
  #knowsSlots = true

  /** The same things in groups that one script can decide over. */
  grouped<Named extends { readonly name: string }>(things: readonly Named[]): readonly (readonly Named[])[] {
    if (!this.isCluster) return [things]
    return this.#knowsSlots ? bySlot(things) : things.map((thing) => [thing])
  }

  /** Learns from the failure of a call. A group that is refused once more has keys that the client renames. */
  learn(error: unknown): void {
    if (!isCrossSlot(error)) return
    if (this.isCluster) this.#knowsSlots = false
    this.isCluster = true
  }
}

function bySlot<Named extends { readonly name: string }>(things: readonly Named[]): readonly (readonly Named[])[] {
  const slots = new Map<number, Named[]>()
  for (const thing of things) {
    const slot = slotOf(thing.name)
    const group = slots.get(slot)
    if (group === undefined) slots.set(slot, [thing])
    else group.push(thing)
  }
  return [...slots.values()]
}
