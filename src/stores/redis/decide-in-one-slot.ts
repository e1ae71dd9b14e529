import type { Verdict } from '../../core/decision.ts'
import { watching } from '../../core/request.ts'
import type { Memo, Order } from '../../core/store.ts'
import { NUMBERS, numbersOf, verdictAt } from './decode-verdict.ts'
import type { RedisShelf } from './redis-shelf.ts'
import { requestText } from './request-text.ts'
import { getScript } from './script-catalog.ts'
import type { Runner } from './script-runner.ts'
import { slotOf } from './slot-of.ts'

/** A part of a decision on a shelf on Redis. */
export interface RedisOrder extends Order {
  readonly shelf: RedisShelf
}

/** What one run of the script says of each order, and by its key's own time when that was decided. */
export interface Decided {
  readonly verdicts: readonly Verdict[]
  readonly timesMs: readonly number[]
}

/** Decides over several keys by one run of one script. */
export async function decideInOneSlot(
  runner: Runner,
  orders: readonly RedisOrder[],
  nowMs: number,
  memo?: Memo,
): Promise<Decided> {
  const keys = orders.map(nameOf)
  const args = [`${nowMs}`, `${memo?.ms ?? 0}`]
  for (const order of orders) args.push(...ruleTextsOf(order), requestTextOf(order))
  const names = memo === undefined ? keys : [...keys, memoKey(keys[0] as string, memo.id)]
  const reply = await runner.run(getScript('tiers'), names, args)
  const numbers = numbersOf(reply, orders.length * NUMBERS_WITH_TIME)
  return { verdicts: verdictsIn(numbers, 0, orders), timesMs: numbers.slice(orders.length * NUMBERS) }
}

/** What the script answers for each order: its verdict's numbers, and after those of all orders the time of its decision. */
export const NUMBERS_WITH_TIME: number = NUMBERS + 1

/** The verdicts on orders whose numbers start at `first`. */
export function verdictsIn(numbers: readonly number[], first: number, orders: readonly RedisOrder[]): Verdict[] {
  return orders.map(({ shelf, request }, index) => {
    const verdict = verdictAt(numbers, first + index * NUMBERS, request)
    shelf.lastRemaining = verdict.remaining
    return verdict
  })
}

/** What the script is told of an order's rule. */
export function ruleTextsOf({ shelf, rule }: RedisOrder): readonly string[] {
  const { required, optional } = shelf.textsOf(rule)
  return [rule.kind, ...required, ...optional]
}

/** What the script is asked. */
export function requestTextOf({ shelf, request, shadow }: RedisOrder): string {
  const asked = requestText(shadow ? watching(request) : request)
  if (!shelf.isChanging && !shadow) return asked
  return `${shelf.isChanging ? 'changing:' : ''}${shadow ? 'shadow:' : ''}${asked}`
}

/** What the key of an order is called on the server. */
export function nameOf({ shelf, key }: RedisOrder): string {
  return shelf.nameOf(key)
}

/** A key beside `key`, in the same slot of a Cluster: its slot is that of the whole key, or of the tag in it. */
export function memoKey(key: string, id: string): string {
  const whole = `{${key}}${id}`
  return slotOf(whole) === slotOf(key) ? whole : `${key}${id}`
}
