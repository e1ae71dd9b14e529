/** A value of a file, and where it stands there: how many characters come before it. */
export type Marked = MarkedMap | MarkedOther

/** Values by name. */
export interface MarkedMap {
  readonly kind: 'map'
  readonly at: number
  /** In the order of the file; no name comes twice. */
  readonly entries: ReadonlyMap<string, MarkedEntry>
}

/** A name and its value. */
export interface MarkedEntry {
  /** Where the name stands. */
  readonly at: number
  readonly value: Marked
}

/** A text, a number, true, false, null or, where it is none of these, an empty list in the place of any list. */
interface MarkedOther {
  readonly kind: 'other'
  readonly at: number
  readonly value: unknown
}

/** Notes something that is wrong, and where. */
export type Complain = (at: number, reason: string) => void
