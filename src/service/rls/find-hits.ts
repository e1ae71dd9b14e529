import { composeSubject, escapePart, matchDescriptor } from './match-descriptor.ts'
import type { Descriptor, RateLimitRequest } from './messages.ts'
import { makeDefaultRule } from './rate-limit-rule.ts'
import { LARGEST_COUNT } from './read-rate-limit.ts'
import { RequestProblem } from './request-problem.ts'
import type { DescriptorNode, RateLimit } from './rls-config.ts'
import { UNITS } from './units.ts'

/** What one descriptor counts. */
export interface Hit {
  readonly rateLimit: RateLimit
  /** Whether the request brought the limit. */
  readonly isOverride: boolean
  readonly subject: string
  /** 0 looks and takes nothing. */
  readonly hits: number
}

/** More than any proxy sends: all of them are decided by one script. */
const MOST_DESCRIPTORS = 100

/** Finds what each descriptor counts; `undefined` where no limit matches, or where another one replaces it. */
export function findHits(root: DescriptorNode, request: RateLimitRequest): readonly (Hit | undefined)[] {
  const { descriptors, hitsAddend } = request
  if (descriptors.length > MOST_DESCRIPTORS) {
    throw new RequestProblem(`a request has at most ${MOST_DESCRIPTORS} descriptors, got ${descriptors.length}`)
  }
  const found = descriptors.map((descriptor) => findHit(root, descriptor, hitsAddend))
  const replaced = new Set(found.flatMap((hit) => hit?.rateLimit.replaces ?? []))
  return found.map((hit) => (hit !== undefined && replaced.has(hit.rateLimit.name) ? undefined : hit))
}

function findHit(root: DescriptorNode, descriptor: Descriptor, hitsAddend: number): Hit | undefined {
  if (descriptor.isNegativeHits) throw new RequestProblem('is_negative_hits is not supported')
  const hits = Math.min(descriptor.hitsAddend ?? Math.max(1, hitsAddend), Number.MAX_SAFE_INTEGER)
  const { entries, override } = descriptor
  if (override === undefined) {
    const match = matchDescriptor(root, entries)
    return match && { ...match, isOverride: false, hits }
  }
  const parts = entries.map(({ key, value }) => `${escapePart(key)}=${escapePart(value)}`)
  return { rateLimit: findOverride(override), isOverride: true, subject: composeSubject(parts), hits }
}

/** Limits that requests have brought. The same numbers give the same rule, so that decisions by it travel together. */
const overrides = new Map<string, RateLimit>()
const MOST_OVERRIDES = 1_000

function findOverride({ requestsPerUnit, unit: number }: NonNullable<Descriptor['override']>): RateLimit {
  const text = `${requestsPerUnit} ${number}`
  const known = overrides.get(text)
  if (known !== undefined) return known
  const unit = UNITS.find((one) => one.number === number)
  if (unit === undefined) throw new RequestProblem(`the limit of a descriptor has the unit ${number}, which is unknown`)
  const rateLimit: RateLimit = {
    path: OVERRIDE_PATH,
    label: 'override',
    name: '',
    replaces: [],
    shadow: false,
    unlimited: false,
    requestsPerUnit: Math.min(requestsPerUnit, LARGEST_COUNT),
    unit,
    rule: requestsPerUnit === 0 ? undefined : makeDefaultRule(requestsPerUnit, unit),
  }
  if (overrides.size >= MOST_OVERRIDES) overrides.clear()
  overrides.set(text, rateLimit)
  return rateLimit
}

/** The path of all limits that requests bring. No path of a file starts with a slash. */
export const OVERRIDE_PATH = '/override'
