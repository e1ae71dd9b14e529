import type { DescriptorNode, RateLimit } from './rls-config.ts'

/** One key and value of a descriptor. */
export interface Entry {
  readonly key: string
  readonly value: string
}

/** The limit of a descriptor, and what it counts. */
export interface Match {
  readonly rateLimit: RateLimit
  /** The values that the file leaves open. Descriptors of one limit with the same subject share one count. */
  readonly subject: string
}

/**
 * Finds the limit of a descriptor: the key with this value before a value that ends with `*`, and that before the key alone. The
 * descriptor has as many entries as the path to its limit; otherwise it has no limit.
 */
export function matchDescriptor(root: DescriptorNode, entries: readonly Entry[]): Match | undefined {
  let node: DescriptorNode = root
  const open: string[] = []
  for (const { key, value } of entries) {
    const below = node.keys.get(key)
    const exact = below?.values.get(value)
    const prefixed = exact === undefined ? below?.prefixes.find(({ prefix }) => value.startsWith(prefix)) : undefined
    const next = exact ?? prefixed?.node ?? below?.any
    if (next === undefined) return undefined
    if (exact === undefined && prefixed?.isShared !== true) open.push(value)
    node = next
  }
  const { rateLimit } = node
  return rateLimit && { rateLimit, subject: composeSubject(open) }
}

/** Composes the subject of open values. Different values never give the same text. */
export function composeSubject(values: readonly string[]): string {
  return values.length === 0 ? 'all' : values.map(escapePart).join('/')
}

/** Escapes a part of a path, so that it contains none of the characters between parts. */
export function escapePart(text: string): string {
  return text.replace(/[%/=]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
}
