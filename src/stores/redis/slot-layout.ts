import { computeSlot } from './compute-slot.ts'

/** What is known of where keys lie: all on one server, unless the client is one for a Cluster or a Cluster says so. */
export class SlotLayout {
  /** Whether keys lie in several slots. */
  isCluster: boolean
  #knowsSlots: boolean

  /** @param knowsSlots whether keys of one slot may go together on a Cluster. */
  constructor(isCluster: boolean, knowsSlots: boolean) {
    this.isCluster = isCluster
    this.#knowsSlots = knowsSlots
  }

  /** The same things in groups that one script can decide over. Those of one name stay together. */
  grouped<Named extends { readonly name: string }>(things: readonly Named[]): readonly (readonly Named[])[] {
    const groups = new Map<number | string, Named[]>()
    for (const thing of things) {
      const place = this.#knowsSlots ? computeSlot(thing.name) : thing.name
      const group = groups.get(place)
      if (group === undefined) groups.set(place, [thing])
      else group.push(thing)
    }
    return [...groups.values()]
  }

  /**
   * Learns that a group has keys in different slots.
   *
   * @param wasBySlot whether it was made by their slots: then the client renames keys, and the store does not know where they lie.
   */
  learn(wasBySlot: boolean): void {
    this.isCluster = true
    if (wasBySlot) this.#knowsSlots = false
  }
}
