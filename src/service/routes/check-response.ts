import type { Decision } from '../../core/decision.ts'
import type { Rule } from '../../core/rule.ts'
import { composeHeaderFields, createLimitWriter, type HeaderField, listLimits } from '../../http/header-fields.ts'
import { composeRefusal, PROBLEM_JSON } from '../../http/refusal.ts'
import type { TieredLimiter } from '../../limiter/tiered-limiter.ts'
import type { ServiceResponse } from '../server/response.ts'

/** Writes a decision as the response to a check: headers of the limits, and of a refusal the problem too. */
export type CheckWriter = (decision: Decision, isForbidding: boolean) => ServiceResponse

/** Makes the writer of a limiter's responses. */
export function createCheckWriter(limiter: TieredLimiter): CheckWriter {
  const writeFields = createFieldWriter(limiter)
  return (decision, isForbidding) => {
    const headers: Record<string, string> = { 'cache-control': 'no-store' }
    for (const { name, value } of writeFields(decision)) headers[name] = value
    return decision.allowed ? { status: 200, headers, body: '' } : refuse(decision, isForbidding, headers)
  }
}

function refuse(decision: Decision, isForbidding: boolean, headers: Record<string, string>): ServiceResponse {
  const { status: usual, retryAfterSeconds, problem } = composeRefusal(decision)
  const status = isForbidding ? 403 : usual
  if (retryAfterSeconds !== undefined) headers['Retry-After'] = `${retryAfterSeconds}`
  headers['content-type'] = PROBLEM_JSON
  return { status, headers, body: JSON.stringify({ ...problem, status }) }
}

function createFieldWriter({ rules, shadows }: TieredLimiter): (decision: Decision) => readonly HeaderField[] {
  // Clients do not see limits in shadow mode.
  const visible = Object.entries(rules).filter(([name]) => !shadows.includes(name))
  const [only] = visible
  if (only !== undefined && Object.keys(rules).length === 1) return createLimitWriter(...only)
  const shown: Readonly<Record<string, Rule>> = Object.fromEntries(visible)
  return (decision) => composeHeaderFields(listLimits(decision, shown), 'draft-11', 0)
}
