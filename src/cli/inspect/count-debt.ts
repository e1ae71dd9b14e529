import type { Rule } from '../../core/rule.ts'
import type { StoredEntry } from './decode-entry.ts'

/** How much more was counted than the limit allows, in whole requests: what charges took beyond it. */
export function countDebt(rule: Rule, { state, taken, parts }: StoredEntry, nowMs: number): number {
  const spanMs = Math.min(readSpanMs(rule), Number(parts?.spanMs))
  if (taken.length > 0) return Math.max(0, totalSince(taken, nowMs - spanMs) - rule.limit)
  if (state === undefined) return 0
  const timeMs = Math.max(nowMs, state.atMs)
  const isFreed = (amount: number): boolean => {
    return rule.step(rule.adjust(state, timeMs, -amount).state, timeMs, 0).remaining > 0
  }
  // The least that has to go back before one request passes is one more than the debt.
  let least = 0
  let most = 1
  while (!isFreed(most)) [least, most] = [most, most * 2]
  while (most - least > 1) {
    const middle = Math.floor((least + most) / 2)
    if (isFreed(middle)) most = middle
    else least = middle
  }
  return isFreed(0) ? 0 : most - 1
}

function totalSince(taken: StoredEntry['taken'], sinceMs: number): number {
  return taken.reduce((total, [timeMs, cost]) => (timeMs > sinceMs ? total + cost : total), 0)
}

function readSpanMs({ parameters }: Rule): number {
  return (parameters.windowMs ?? parameters.leaseMs) as number
}
