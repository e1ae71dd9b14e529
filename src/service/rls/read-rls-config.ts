import { show } from '../../core/check.ts'
import { readPlain, refuseUnknown } from '../../policies/read-fields.ts'
import { readPositioned } from '../../policies/read-positioned.ts'
import type { MappingNode, ReportProblem, SourceNode } from '../../policies/source-node.ts'
import { escapePart } from './match-descriptor.ts'
import { readRateLimit } from './read-rate-limit.ts'
import { findEntry, readFlag, readText } from './read-scalars.ts'
import type { DescriptorNode, KeyNode, PrefixNode, RateLimit, RlsConfig } from './rls-config.ts'

/**
 * Reads a file of rate limits, as envoyproxy/ratelimit has them. Throws a `PoliciesError` with everything that is wrong in it, and
 * nothing else.
 *
 * @param fileName only for messages.
 */
export function readRlsConfig(text: string, fileName: string): RlsConfig {
  return readPositioned(text, fileName, (root, reportProblem) => {
    if (root?.kind !== 'map') {
      reportProblem(root?.at ?? 0, `a file of rate limits starts with "domain:", such as ${EXAMPLE}`)
      return undefined as never
    }
    refuseUnknown('a file of rate limits', root, ['domain', 'descriptors'], reportProblem)
    const domain = readText(root, 'domain', reportProblem)
    if (domain === '') reportProblem(root.at, 'a file of rate limits needs a domain, such as domain: shop')
    const reader = new DescriptorReader(reportProblem)
    const keys = reader.readList(root, [])
    return { domain, root: { rateLimit: undefined, keys }, rateLimits: reader.rateLimits, text }
  })
}

const EXAMPLE =
  '{ domain: shop, descriptors: [{ key: remote_address, rate_limit: { unit: minute, requests_per_unit: 100 } }] }'
const DESCRIPTOR = [
  'key',
  'value',
  'rate_limit',
  'shadow_mode',
  'descriptors',
  'detailed_metric',
  'value_to_metric',
  'share_threshold',
]

interface OpenKeyNode extends KeyNode {
  readonly values: Map<string, DescriptorNode>
  readonly prefixes: PrefixNode[]
  any: DescriptorNode | undefined
}

interface PathPart {
  readonly key: string
  readonly value: string
}

class DescriptorReader {
  readonly rateLimits: RateLimit[] = []
  readonly #reportProblem: ReportProblem

  constructor(reportProblem: ReportProblem) {
    this.#reportProblem = reportProblem
  }

  /** Reads the descriptors of a map, of which the path leads to. */
  readList(map: MappingNode, path: readonly PathPart[]): ReadonlyMap<string, KeyNode> {
    const keys = new Map<string, OpenKeyNode>()
    const given = findEntry(map, 'descriptors')?.value
    if (given === undefined) return keys
    if (given.kind !== 'other' || given.items === undefined) {
      this.#reportProblem(given.at, `descriptors must be a list, got ${show(readPlain(given))}`)
      return keys
    }
    for (const item of given.items) this.#readOne(item, path, keys)
    return keys
  }

  #readOne(item: SourceNode, path: readonly PathPart[], keys: Map<string, OpenKeyNode>): void {
    if (item.kind !== 'map') {
      this.#reportProblem(item.at, `a descriptor must be a map with a key, got ${show(readPlain(item))}`)
      return
    }
    refuseUnknown('a descriptor', item, DESCRIPTOR, this.#reportProblem)
    const key = readText(item, 'key', this.#reportProblem)
    const value = readText(item, 'value', this.#reportProblem)
    if (key === '') this.#reportProblem(item.at, 'a descriptor needs a key, such as key: remote_address')
    const isShared = readFlag(item, 'share_threshold', this.#reportProblem)
    // They change the names of metrics there. Sluice names its metrics by the path, and keys are on the page.
    for (const name of ['detailed_metric', 'value_to_metric']) readFlag(item, name, this.#reportProblem)
    if (isShared && !value.endsWith('*'))
      this.#reportProblem(item.at, 'share_threshold is for a value that ends with *, such as value: files/*')
    const parts = [...path, { key, value }]
    const rateLimit = this.#readLimit(item, parts)
    const node = { rateLimit, keys: this.readList(item, parts) }
    this.#place(node, isShared, item.at, parts, keys)
  }

  #readLimit(item: MappingNode, path: readonly PathPart[]): RateLimit | undefined {
    const shadow = readFlag(item, 'shadow_mode', this.#reportProblem)
    const given = findEntry(item, 'rate_limit')
    if (given === undefined) return undefined
    const keys = path.map(({ key }) => key).join('/')
    const place = { path: formatPath(path), label: keys, shadow }
    const rateLimit = readRateLimit(given, place, this.#reportProblem)
    if (rateLimit !== undefined) this.rateLimits.push(rateLimit)
    return rateLimit
  }

  #place(
    node: DescriptorNode,
    isShared: boolean,
    at: number,
    path: readonly PathPart[],
    keys: Map<string, OpenKeyNode>,
  ): void {
    const { key, value } = path.at(-1) as PathPart
    const known: OpenKeyNode = keys.get(key) ?? { values: new Map(), prefixes: [], any: undefined }
    keys.set(key, known)
    const prefix = value.slice(0, -1)
    const isPrefix = value.endsWith('*')
    const isTaken = isPrefix
      ? known.prefixes.some((other) => other.prefix === prefix)
      : value === ''
        ? known.any !== undefined
        : known.values.has(value)
    if (isTaken) this.#reportProblem(at, `the descriptor ${formatPath(path)} is there twice`)
    if (isPrefix) known.prefixes.push({ prefix, isShared, node })
    else if (value === '') known.any = node
    else known.values.set(value, node)
  }
}

function formatPath(path: readonly PathPart[]): string {
  return path
    .map(({ key, value }) => (value === '' ? escapePart(key) : `${escapePart(key)}=${escapePart(value)}`))
    .join('/')
}
