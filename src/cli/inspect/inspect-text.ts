import type { Decision, TierVerdict } from '../../core/decision.ts'
import { decisionJson } from '../../service/routes/decision-json.ts'
import { lengthOf, timeText } from '../length-of-time.ts'
import type { Paint } from '../paint.ts'
import { printable } from '../printable.ts'
import { table } from '../table.ts'
import type { InspectedLimit, Inspection, StoredKey } from './inspection.ts'

/** An inspection as JSON: everything, in milliseconds. */
export function inspectionJson(inspection: Inspection): object {
  return { ...inspection, decision: decisionJson(inspection.decision) }
}

/** An inspection for people. */
export function inspectionText(inspection: Inspection, paint: Paint): string {
  const { policy, key, place, decision, limits, cost, atMs } = inspection
  const head = `${paint.bold(key === '' ? '""' : printable(key))} by the policy ${paint.bold(printable(policy))}, at ${place}\n`
  const verdict = decision.allowed
    ? `${paint.green('would pass')} now with a cost of ${cost}${delayed(decision)}`
    : `${paint.red('is refused')} now with a cost of ${cost}: ${printable(whyRefused(decision, policy, limits))}`
  const parts = limits.map((limit) => limitText(limit, verdictOf(inspection, limit), atMs, paint))
  return `${head}${verdict}\n${parts.join('')}`
}

function delayed({ delayMs }: Decision): string {
  return delayMs > 0 ? `, after waiting ${lengthOf(delayMs)} for its turn` : ''
}

function whyRefused({ reason, limitedBy }: Decision, policy: string, limits: readonly InspectedLimit[]): string {
  const by = limits.length > 1 || limitedBy !== policy ? `${limitedBy}, ` : ''
  return `${by}${REASONS.get(`${reason}`) ?? reason}`
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ['limit', 'the limit is used up'],
  ['cost-exceeds-limit', 'the cost is greater than the limit, and never passes'],
  ['blocked', 'the key is blocked'],
  ['queue-full', 'too many wait already'],
  ['store-unavailable', 'the store does not answer'],
])

function verdictOf({ decision }: Inspection, { name, limit }: InspectedLimit): TierVerdict {
  return (decision.tiers as Record<string, TierVerdict>)[name] ?? { ...decision, limit }
}

function limitText(limit: InspectedLimit, verdict: TierVerdict, atMs: number, paint: Paint): string {
  const { name, kind, parameters, isShadow, stored } = limit
  const numbers = Object.entries(parameters).map(([parameter, value]) => `${parameter} ${value}`)
  const rows: [string, string][] = [
    ['rule', `${kind}, ${numbers.join(', ')}${isShadow ? '; only watches' : ''}`],
    ['remaining', `${verdict.remaining} of ${limit.limit}`],
  ]
  if (!verdict.allowed) rows.push(['free in', freeText(verdict.retryAfterMs, atMs)])
  rows.push(['untouched in', `${lengthOf(verdict.resetAfterMs)}`])
  if (stored !== undefined) rows.push(...storedRows(stored, atMs))
  const lines = table(rows.map(([title, text]) => [`  ${paint.faint(title)}`, printable(text)]))
  return `\n${paint.bold(printable(name))}\n${lines}`
}

function freeText(retryAfterMs: number, atMs: number): string {
  if (retryAfterMs === Number.POSITIVE_INFINITY) return 'never'
  return `${lengthOf(retryAfterMs)} (${retryAfterMs} ms), at ${timeText(atMs + retryAfterMs)}`
}

function storedRows(stored: StoredKey, atMs: number): [string, string][] {
  const { name, type, ttlMs, bytes, state, debt, blockedUntilMs, holds } = stored
  const rows: [string, string][] = []
  if (debt > 0) rows.push(['debt', `${debt}`])
  if (blockedUntilMs !== null) {
    rows.push(['blocked for', `${lengthOf(blockedUntilMs - atMs)}, until ${timeText(blockedUntilMs)}`])
  }
  for (const { amount, untilMs } of holds) {
    rows.push(['hold', `${amount}, comes back in ${lengthOf(untilMs - atMs)} unless it is settled`])
  }
  rows.push(['key', name])
  if (type === 'none') return [...rows, ['', 'not there: nothing is counted']]
  const size = bytes === null ? '' : `, ${bytes} bytes`
  rows.push(['', `${type}${size}, goes in ${ttlMs === null ? 'no time: it has no TTL' : lengthOf(ttlMs)}`])
  if (state !== null) rows.push(['state', stateText(state)])
  return rows
}

function stateText(state: NonNullable<StoredKey['state']>): string {
  const parts = Object.entries(state).map(([part, value]) => {
    return `${part} ${Array.isArray(value) ? value.join(' ') : value}`
  })
  return parts.join(', ')
}
