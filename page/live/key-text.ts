import type { Subject } from '../../src/core/key.ts'

/** A key as the service takes it: one subject for all tiers, or one for each tier by its name. */
export type RequestKey = Subject | Readonly<Record<string, Subject>>

/** The key that a report wrote as a text; `undefined` when the text has only the hash of a long name. */
export function parseKeyText(text: string, tiers: readonly string[]): RequestKey | undefined {
  // Names have no bare # and no space: both are escaped.
  if (text.includes('#')) return undefined
  if (!tiers.some((tier) => text.startsWith(`${tier}=`))) return parseSubject(text)
  const pairs = text.split(', ').map((part): [string, Subject] => {
    const tier = tiers.find((name) => part.startsWith(`${name}=`)) as string
    return [tier, parseSubject(part.slice(tier.length + 1))]
  })
  return Object.fromEntries(pairs)
}

function parseSubject(text: string): Subject {
  const [first, name] = text.split('~') as [string, string | undefined]
  return name === undefined ? decode(first) : { kind: decode(first), name: decode(name) }
}

function decode(text: string): string {
  return text.replaceAll(/%u([\dA-F]{4})|%([\dA-F]{2})/g, (_found, wide?: string, narrow?: string) =>
    String.fromCharCode(Number.parseInt((wide ?? narrow) as string, 16)),
  )
}
