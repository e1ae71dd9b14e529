import { show } from '../core/check.ts'
import { readPlain } from './read-fields.ts'
import { type PolicyOptions, readPolicy } from './read-policy.ts'
import { readPositioned } from './read-positioned.ts'
import type { ReportProblem, SourceNode } from './source-node.ts'

/** A limiter that a file describes. */
export interface Policy {
  readonly name: string
  /** For `createLimiter`, with a store and a clock of the caller's: see `createPolicyLimiter`. */
  readonly options: PolicyOptions
}

/** The policies of a file, in its order. At least one; no name comes twice. */
export type Policies = readonly Policy[]

/**
 * Reads the text of a file of policies, YAML or JSON. Throws a `PoliciesError` with everything that is wrong in it, and nothing else.
 *
 * @param fileName only for messages.
 */
export function readPolicies(text: string, fileName: string): Policies {
  return readPositioned(text, fileName, readRoot)
}

const EXAMPLE = 'policies: { api: { rule: sliding-window, limit: 100, window: 1m } }'

function readRoot(root: SourceNode | undefined, reportProblem: ReportProblem): Policies {
  if (root?.kind !== 'map') {
    reportProblem(root?.at ?? 0, `a policies file must start with "policies:", such as ${EXAMPLE}`)
    return []
  }
  for (const [name, { at }] of root.entries) {
    if (name === 'policies' || name.startsWith('x-')) continue
    reportProblem(
      at,
      `unknown name ${show(name)} in a policies file; use policies, or x- in front of what aliases repeat`,
    )
  }
  const given = root.entries.get('policies')
  if (given === undefined || given.value.kind !== 'map' || given.value.entries.size === 0) {
    const got = given === undefined ? 'nothing' : show(readPlain(given.value))
    reportProblem(
      given?.value.at ?? root.at,
      `policies must be at least one policy by its name, such as ${EXAMPLE}, got ${got}`,
    )
    return []
  }
  const policies: Policy[] = []
  for (const [name, entry] of given.value.entries) {
    const options = readPolicy(name, entry, reportProblem)
    if (options !== undefined) policies.push({ name, options })
  }
  return policies
}
