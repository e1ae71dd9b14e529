import { STORE_TIME } from '../../core/clock.ts'
import type { LimitResult, Reason } from '../../core/decision.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { GrantRequest, Operation, OperationType } from '../../core/operation.ts'

/** The texts of a hot script's arguments. Those at the end that are as the script assumes are left out. */
export function encodeCall(
  parameters: readonly string[],
  nowMs: number,
  blockMs: number,
  costs: readonly string[],
): readonly string[] {
  const [first] = costs as readonly [string, ...string[]]
  let isShared = true
  for (const cost of costs) isShared &&= cost === first
  if (!isShared || first !== '1') return [...parameters, `${nowMs}`, `${blockMs}`, ...(isShared ? [first] : costs)]
  if (blockMs !== 0) return [...parameters, `${nowMs}`, `${blockMs}`]
  return nowMs === STORE_TIME ? parameters : [...parameters, `${nowMs}`]
}

/** A cost as a hot script takes it: that of a peek is below zero. */
export function encodeCost({ type, amount }: Operation): string {
  return type === 'peek' ? `-${amount}` : `${amount}`
}

/** Whether a hot script can decide an operation. */
export function isHot({ type, amount, rule }: Operation): boolean {
  return amount > 0 && amount <= rule.limit && (type === 'consume' || type === 'peek')
}

/** An operation as the full script takes it. */
export function encodeOperation(operation: Operation): string {
  const { rulesVary, shadow } = operation.limit
  const text = encodeRequest(operation)
  return rulesVary || shadow ? `${rulesVary ? 'changing:' : ''}${shadow ? 'shadow:' : ''}${text}` : text
}

function encodeRequest({ type, amount, blockMs, holdId, holdMs, grant, takenMs, replaces }: Operation): string {
  switch (type) {
    case 'consume':
      return `${amount}${encodeBlock(blockMs)}`
    case 'reserve':
      return `reserve:${amount}:${holdId}:${holdMs}${encodeBlock(blockMs)}`
    case 'grant': {
      const { want, soon, soonMs, endedId, endedUsed } = grant as GrantRequest
      const ended = endedId === 0 ? '' : `:${endedId}:${endedUsed}`
      return `grant:${amount}:${soon}:${want}:${holdId}:${holdMs}:${soonMs}${ended}${encodeBlock(blockMs)}`
    }
    case 'settle':
      return `settle:${holdId}:${amount}`
    case 'extend':
      return `extend:${holdId}:${holdMs}`
    case 'refund':
      return `refund:${amount}${takenMs === undefined ? '' : `:${takenMs}`}`
    case 'block':
      return `${replaces ? 'reblock' : 'block'}:${amount}`
    case 'unblock':
    case 'reset':
      return `${type}`
    default:
      return `${type}:${amount}`
  }
}

function encodeBlock(blockMs: number): string {
  return blockMs === 0 ? '' : `:blockFor:${blockMs}`
}

/**
 * What a script answered to several operations: three numbers where one is allowed at once, and otherwise four, of which the first is a
 * status below zero. After that of a grant come four numbers more. `LimitResult` is made when it is asked for.
 */
export class DecisionReply {
  readonly #numbers: readonly number[]
  /** Where each answer starts; absent when all have three numbers. */
  readonly #starts: readonly number[] | undefined

  /**
   * @param extra how many numbers follow each answer: one for its time, if that was asked for.
   * @param readType what type of operation is in a place. Absent: none is a grant.
   */
  constructor(reply: unknown, size: number, extra: 0 | 1 = 0, readType?: (place: number) => OperationType) {
    this.#numbers = wholeNumbers(reply)
    this.#starts = undefined
    if (extra === 0 && this.#numbers.length === 3 * size) return
    this.#starts = findStarts(this.#numbers, size, extra, readType)
    if (this.#numbers.length === this.#starts[size]) return
    wrongReply(reply, `the answers to ${size} requests in whole numbers`)
  }

  /** The results of operations whose answers start in this place; undefined when the script has handed them over. */
  results(place: number, operations: readonly Operation[]): readonly LimitResult[] | undefined {
    const first = this.result(place, (operations[0] as Operation).type)
    if (first === undefined) return undefined
    const results = [first]
    for (let index = 1; index < operations.length; index++) {
      results.push(this.result(place + index, (operations[index] as Operation).type) as LimitResult)
    }
    return results
  }

  /** The result of the operation in this place; undefined when the script has handed it over. */
  result(place: number, type: OperationType = 'consume'): LimitResult | undefined {
    const numbers = this.#numbers
    const at = this.#starts === undefined ? 3 * place : (this.#starts[place] as number)
    const status = numbers[at] as number
    if (type === 'grant') return this.#withGranted(this.result(place), status >= 0 ? at + 3 : at + 4)
    if (status >= 0) return allowed(status, numbers[at + 1] as number, numbers[at + 2] as number, 0)
    const [second, resetAfterMs, fourth] = numbers.slice(at + 1, at + 4) as [number, number, number]
    if (status === STATUS.handedOver) return undefined
    if (status === STATUS.blocked) return refused('blocked', 0, resetAfterMs, fourth, second)
    if (status === STATUS.limit) return refused(explain(type, fourth), second, resetAfterMs, fourth, undefined)
    return allowed(second, resetAfterMs, fourth, STATUS.handedOver - status)
  }

  #withGranted(result: LimitResult | undefined, at: number): LimitResult | undefined {
    const [units, lastsMs, live, endsMs] = this.#numbers.slice(at, at + 4) as [number, number, number, number]
    return result && { ...result, granted: { units, lastsMs, live, endsMs } }
  }

  /** By its key's own time, when the operation in this place was decided. */
  timeMs(place: number): number {
    return this.#numbers[(this.#starts?.[place + 1] as number) - 1] as number
  }
}

/** How the answer to a decision starts that was not allowed at once. Less: it is allowed after a wait of as many milliseconds as it is less. */
const STATUS = { limit: -1, blocked: -2, handedOver: -3 } as const

const NEVER = -1

function explain(type: OperationType, retryAfterMs: number): Reason {
  if (type === 'settle' || type === 'extend') return 'reservation-ended'
  return retryAfterMs === NEVER ? 'cost-exceeds-limit' : 'limit'
}

function findStarts(
  numbers: readonly number[],
  size: number,
  extra: number,
  readType: ((place: number) => OperationType) | undefined,
): readonly number[] {
  const starts = [0]
  for (let index = 0, at = 0; index < size; index++) {
    const status = numbers[at] as number
    at += (status >= 0 ? 3 : 4) + (readType?.(index) === 'grant' ? 4 : 0) + extra
    starts.push(at)
  }
  return starts
}

function wrongReply(reply: unknown, expected: string): never {
  throw new LimiterError('STORE_FAILED', `Redis must answer with ${expected}, got ${String(reply)}`)
}

function allowed(remaining: number, resetAfterMs: number, nextAfterMs: number, delayMs: number): LimitResult {
  return {
    allowed: true,
    remaining,
    retryAfterMs: 0,
    resetAfterMs,
    delayMs,
    reason: undefined,
    nextAfterMs,
    blockedMs: undefined,
  }
}

function refused(
  reason: Reason,
  remaining: number,
  resetAfterMs: number,
  retryAfterMs: number,
  blockedMs: number | undefined,
): LimitResult {
  return {
    allowed: false,
    remaining,
    retryAfterMs: retryAfterMs === NEVER ? Number.POSITIVE_INFINITY : retryAfterMs,
    resetAfterMs,
    delayMs: 0,
    reason,
    nextAfterMs: undefined,
    blockedMs,
  }
}

/** The numbers may be texts: some clients are set so. */
function wholeNumbers(reply: unknown): readonly number[] {
  if (!Array.isArray(reply)) return []
  for (let index = 0; index < reply.length; index++) {
    if (Number.isSafeInteger(reply[index])) continue
    const numbers = reply.map(Number)
    return numbers.every(Number.isSafeInteger) ? numbers : []
  }
  return reply
}
