import type { Rule } from '../../core/rule.ts'
import type { Unit } from './units.ts'

/** A file of rate limits, read. */
export interface RlsConfig {
  readonly domain: string
  readonly root: DescriptorNode
  /** All limits of the tree that count. */
  readonly rateLimits: readonly RateLimit[]
  /** The file as it was read: files of the same text are the same. */
  readonly text: string
}

/** A point of the tree of descriptors. */
export interface DescriptorNode {
  /** Absent: what ends here is not limited. */
  readonly rateLimit: RateLimit | undefined
  /** The points below, by the key of the next entry. */
  readonly keys: ReadonlyMap<string, KeyNode>
}

/** Where the values of one key lead. */
export interface KeyNode {
  readonly values: ReadonlyMap<string, DescriptorNode>
  /** Values that end with `*`, in the order of the file. */
  readonly prefixes: readonly PrefixNode[]
  /** Any other value. */
  readonly any: DescriptorNode | undefined
}

/** Where all values lead that start alike. */
export interface PrefixNode {
  readonly prefix: string
  /** Whether all of them share one count. */
  readonly isShared: boolean
  readonly node: DescriptorNode
}

/** A `rate_limit` of the file, or one that a request brings. */
export interface RateLimit {
  /** Its place in the tree, such as `message_type=marketing/to_number`. No other limit of the domain has it. */
  readonly path: string
  /** What clients see of it: the name that the file gives it, or the keys of its path. */
  readonly label: string
  readonly name: string
  /** The names of the limits that it replaces. */
  readonly replaces: readonly string[]
  /** Counts and reports, never refuses. */
  readonly shadow: boolean
  readonly unlimited: boolean
  readonly requestsPerUnit: number
  /** Absent: unlimited. */
  readonly unit: Unit | undefined
  /** Absent: unlimited, or nothing passes. */
  readonly rule: Rule | undefined
}
