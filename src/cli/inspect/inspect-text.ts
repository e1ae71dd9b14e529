import type { Decision, TierResult } from '../../core/decision.ts'
import { composeDecisionJson } from '../../service/routes/decision-json.ts'
import { formatParameter } from '../command/format-parameter.ts'
import type { Colors } from '../terminal/colors.ts'
import { formatDuration, formatTime } from '../terminal/format-duration.ts'
import { printable } from '../terminal/printable.ts'
import { formatTable } from '../terminal/table.ts'
import type { InspectedLimit, Inspection, StoredKey } from './inspection.ts'

/** An inspection as JSON: everything, in milliseconds. */
export function composeInspectionJson(inspection: Inspection): object {
  return { ...inspection, decision: composeDecisionJson(inspection.decision) }
}

/** An inspection for people. */
export function formatInspection(inspection: Inspection, colors: Colors): string {
  const { policy, key, place, decision, limits, cost, atMs } = inspection
  const head = `${colors.bold(key === '' ? '""' : printable(key))} by the policy ${colors.bold(printable(policy))}, at ${place}\n`
  const verdict = decision.allowed
    ? `${colors.green('passes')} now with a cost of ${cost}${formatDelay(decision)}`
    : `${colors.red('is refused')} now with a cost of ${cost}: ${printable(describeReason(decision, policy, limits))}`
  const parts = limits.map((limit) => formatLimit(limit, findVerdict(inspection, limit), atMs, colors))
  return `${head}${verdict}\n${parts.join('')}`
}

function formatDelay({ delayMs }: Decision): string {
  return delayMs > 0 ? `, after waiting ${formatDuration(delayMs)} for its turn` : ''
}

function describeReason({ reason, limitedBy }: Decision, policy: string, limits: readonly InspectedLimit[]): string {
  const by = limits.length > 1 || limitedBy !== policy ? `${limitedBy}, ` : ''
  return `${by}${REASONS.get(`${reason}`) ?? reason}`
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ['limit', 'the limit is used up'],
  ['cost-exceeds-limit', 'the cost is greater than the limit, and never passes'],
  ['blocked', 'the key is blocked'],
  ['queue-full', 'the queue is full'],
  ['store-unavailable', 'the store does not answer'],
])

function findVerdict({ decision }: Inspection, { name, limit }: InspectedLimit): TierResult {
  return (decision.tiers as Record<string, TierResult>)[name] ?? { ...decision, limit }
}

function formatLimit(limit: InspectedLimit, verdict: TierResult, atMs: number, colors: Colors): string {
  const { name, kind, parameters, isShadow, stored } = limit
  const numbers = Object.entries(parameters).map(([name, value]) => formatParameter(name, value))
  const rows: [string, string][] = [
    ['rule', `${kind}, ${numbers.join(', ')}${isShadow ? '; shadow' : ''}`],
    ['remaining', `${verdict.remaining} of ${limit.limit}`],
  ]
  if (!verdict.allowed) rows.push(['retry in', formatFree(verdict.retryAfterMs, atMs)])
  rows.push(['reset in', `${formatDuration(verdict.resetAfterMs)}`])
  if (stored !== undefined) rows.push(...listStoredRows(stored, atMs))
  const lines = formatTable(rows.map(([title, text]) => [`  ${colors.faint(title)}`, printable(text)]))
  return `\n${colors.bold(printable(name))}\n${lines}`
}

function formatFree(retryAfterMs: number, atMs: number): string {
  if (retryAfterMs === Number.POSITIVE_INFINITY) return 'never'
  return `${formatDuration(retryAfterMs)} (${retryAfterMs} ms), at ${formatTime(atMs + retryAfterMs)}`
}

function listStoredRows(stored: StoredKey, atMs: number): [string, string][] {
  const { name, type, ttlMs, bytes, state, debt, blockedUntilMs, holds, grants } = stored
  const rows: [string, string][] = []
  if (debt > 0) rows.push(['debt', `${debt}`])
  if (blockedUntilMs !== null) {
    rows.push(['blocked for', `${formatDuration(blockedUntilMs - atMs)}, until ${formatTime(blockedUntilMs)}`])
  }
  for (const { amount, untilMs } of holds) {
    rows.push(['reserved', `${amount}, refunded in ${formatDuration(untilMs - atMs)} unless it is settled`])
  }
  if (grants.length > 0) {
    const sum = grants.reduce((total, { amount }) => total + amount, 0)
    const lastMs = Math.max(...grants.map(({ endMs }) => endMs))
    rows.push(['prefetched', `${sum} in ${grants.length} grants, the last for ${formatDuration(lastMs - atMs)}`])
  }
  rows.push(['key', name])
  if (type === 'none') return [...rows, ['', 'does not exist: nothing is counted']]
  const size = bytes === null ? '' : `, ${bytes} bytes`
  rows.push(['', `${type}${size}, ${ttlMs === null ? 'has no TTL' : `expires in ${formatDuration(ttlMs)}`}`])
  if (state !== null) rows.push(['state', formatState(state)])
  return rows
}

function formatState(state: NonNullable<StoredKey['state']>): string {
  const parts = Object.entries(state).map(([part, value]) => {
    return `${part} ${Array.isArray(value) ? value.join(' ') : value}`
  })
  return parts.join(', ')
}
