/** A value of a file, and its position there: how many characters come before it. */
export type SourceNode = MappingNode | ValueNode

/** Values by name: what YAML calls a mapping. */
export interface MappingNode {
  readonly kind: 'map'
  readonly at: number
  /** In the order of the file; no name comes twice. */
  readonly entries: ReadonlyMap<string, MappingEntry>
}

/** A name and its value. */
export interface MappingEntry {
  /** The position of the name. */
  readonly at: number
  readonly value: SourceNode
}

/** A text, a number, true, false, null or, where it is none of these, an empty list in the place of any list. */
interface ValueNode {
  readonly kind: 'other'
  readonly at: number
  readonly value: unknown
  /** How the file writes it: 1.10 is another text than 1.1. */
  readonly source?: string | undefined
  /** The values of a list. */
  readonly items?: readonly SourceNode[]
}

/** Notes a problem of the file and its position. */
export type ReportProblem = (at: number, reason: string) => void
