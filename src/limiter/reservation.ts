import { invalidOption, show, wholeNumber } from '../core/check.ts'
import type { Clock } from '../core/clock.ts'
import type { Decision } from '../core/decision.ts'
import { readDuration } from '../core/duration.ts'
import { createHoldId, LARGEST_HOLD_ID } from '../core/hold-id.ts'
import type { Limit } from '../core/limit.ts'
import { LimiterError } from '../core/limiter-error.ts'
import { createOperation, type LimitKey, type Operation } from '../core/operation.ts'
import { anything, type Check, optional, readOptions } from '../core/read-options.ts'
import type { Listeners } from './events.ts'
import type { Amounts, Key, ReserveOptions } from './options.ts'
import { type AmountRule, composeKey, parseAmounts, parseOperations } from './parse-call.ts'

/** A reservation of this or another process that has not ended. Going out of scope cancels it, unless it was settled. */
export interface OpenReservation<Tier extends string = never> extends AsyncDisposable {
  /**
   * Ends the reservation: refunds the unused part, and charges usage beyond the estimate, down to the rule's `maxDebt`.
   * A tier that is not named has used its estimate. Permits of a `concurrency()` rule are released.
   *
   * Returns what `peek` returns afterwards. `allowed: false` with the reason `reservation-ended`: the reservation had expired or was
   * settled before, and nothing was changed.
   */
  settle(used: Amounts<Tier>): Promise<Decision<Tier>>
  /** Ends the reservation and refunds all of it. */
  cancel(): Promise<Decision<Tier>>
}

/** The result of `reserve`: settle or cancel it. If it was rejected, nothing was taken and there is nothing to settle. */
export interface Reservation<Tier extends string = never> extends OpenReservation<Tier> {
  readonly allowed: boolean
  /** The answer to the reservation. */
  readonly decision: Decision<Tier>
  /**
   * The reservation as text, to end it elsewhere or later by `resumeReservation` of a limiter of the same name on the same store;
   * `undefined` when rejected. It names the key and the estimate, and any program that has it can end the reservation.
   */
  readonly token: string | undefined
}

/** What reservations, leases and wait queues need of their limiter. */
export interface LimiterHost {
  readonly name: string
  readonly limits: readonly Limit[]
  readonly clock: Clock | undefined
  readonly events: Listeners
  /** Throws when the limiter has been closed. */
  assertOpen(): void
  parseKey(key: unknown): readonly LimitKey[]
  decide(operations: readonly Operation[]): Decision | Promise<Decision>
  /** Something of these keys was refunded. */
  wake(keys: readonly LimitKey[]): void
}

const ESTIMATE: AmountRule = { what: 'estimate', least: 1, otherwise: 1 }
const USED: AmountRule = { what: 'used', least: 0 }
const OPTIONS = { estimate: anything as Check<Amounts<string>>, expiresIn: optional(readDuration, 60_000) }

/** Takes an estimate, until the hold is settled. */
export async function reserve(
  host: LimiterHost,
  key: Key<string>,
  options: ReserveOptions<string>,
): Promise<Reservation<string>> {
  const { estimate, expiresIn: holdMs } = readOptions('reserve()', options, OPTIONS, 'INVALID_ARGUMENT')
  const { name, limits, events } = host
  const startedMs = events.startedMs()
  const keys = host.parseKey(key)
  assertAmount(estimate, ESTIMATE)
  const holdId = createHoldId()
  const held = parseOperations(limits, keys, estimate, ESTIMATE, (one, amount) => {
    const { blockMs } = one.limit
    return createOperation(one, 'reserve', { amount, holdId, holdMs: readLeaseMs(one.limit) ?? holdMs, blockMs })
  })
  const decision = await host.decide(held)
  events.decided(key, estimate, decision, startedMs)
  if (!decision.allowed) return createRefusedHold(decision)
  return {
    allowed: true,
    decision,
    get token() {
      return writeHoldToken({ limiterName: name, key: composeKey(held), estimate, id: holdId })
    },
    ...openHold(host, key, held, estimate, holdId),
  }
}

/** The hold of a token. The store is not asked whether it is still held. */
export function resume(host: LimiterHost, token: unknown): OpenReservation<string> {
  const { name, limits } = host
  host.assertOpen()
  const { limiterName, key, estimate, id } = readHoldToken(token)
  if (limiterName !== name) {
    const message = `the token belongs to the limiter ${show(limiterName)}, not to ${show(name)}`
    throw new LimiterError('INVALID_ARGUMENT', message)
  }
  try {
    const holdId = wholeNumber('id', id, 1, LARGEST_HOLD_ID)
    const held = parseOperations(limits, host.parseKey(key), estimate, ESTIMATE, (one, amount) => {
      return createOperation(one, 'settle', { amount, holdId })
    })
    return openHold(host, key as Key<string>, held, estimate, holdId)
  } catch (error) {
    // The tiers may have changed since, or the token is made up.
    const { message } = error as Error
    throw new LimiterError('INVALID_ARGUMENT', `the token does not fit this limiter: ${message}`, { cause: error })
  }
}

/** Disposing of it cancels what was not settled, and tries again what failed. */
function openHold(
  host: LimiterHost,
  key: Key<string>,
  held: readonly Operation[],
  estimate: unknown,
  holdId: number,
): OpenReservation<string> {
  const useNothing = (): Promise<Decision> => settleHold(host, held, holdId)
  let last: (() => Promise<Decision>) | undefined = useNothing
  const end = async (ending: () => Promise<Decision>): Promise<Decision> => {
    // What is known to be used must not go back because it could not be said once.
    last = ending
    const decision = await ending()
    last = undefined
    host.events.emit('settled', { key, decision })
    return decision
  }
  return {
    settle: async (used) => {
      assertAmount(used, USED, typeof estimate === 'object')
      const amounts = parseAmounts(host.limits, held, used, USED)
      return end(() => settleHold(host, held, holdId, amounts))
    },
    cancel: async () => end(useNothing),
    async [Symbol.asyncDispose]() {
      if (last !== undefined) await end(last)
    },
  }
}

function createRefusedHold(decision: Decision): Reservation<string> {
  const refuse = async (): Promise<Decision> => decision
  return {
    allowed: false,
    decision,
    token: undefined,
    settle: refuse,
    cancel: refuse,
    async [Symbol.asyncDispose]() {},
  }
}

/** Ends a hold of which so much was used by each key. Absent: nothing was; `undefined` for a key: what was estimated. */
export async function settleHold(
  host: LimiterHost,
  held: readonly Operation[],
  holdId: number,
  used?: readonly (number | undefined)[],
): Promise<Decision> {
  const operations = held.map((operation, index) => {
    // A permit is released, whatever was done with it.
    const amount = isLeased(operation) || used === undefined ? 0 : (used[index] ?? operation.amount)
    return createOperation(operation, 'settle', { amount, holdId })
  })
  const decision = await host.decide(operations)
  host.wake(held)
  return decision
}

/** Whether a limit is about permits. */
export function isLeased({ limit }: LimitKey): boolean {
  return limit.rule.refunds === 'lease'
}

/** How long a permit of the limit is held; `undefined` where nothing is leased. */
export function readLeaseMs({ rule }: Limit): number | undefined {
  return rule.refunds === 'lease' ? Number(rule.parameters.leaseMs) : undefined
}

function assertAmount(given: unknown, { what, least }: AmountRule, byTier = false): void {
  if (byTier && (typeof given !== 'object' || given === null)) {
    throw invalidOption(what, 'amounts by tier, like the estimate', given, 'INVALID_ARGUMENT')
  }
  // An amount of its own has to be given, where operations take 1 for one that is absent.
  if (given === undefined) wholeNumber(what, given, least, undefined, 'INVALID_ARGUMENT')
}

/** What a hold is known by, wherever it is ended. Only its form is checked: the rest is for the limiter of that name to check. */
export interface HoldToken {
  readonly limiterName: string
  readonly key: unknown
  readonly estimate: unknown
  readonly id: unknown
}

/** A hold as text, of characters that need no escaping in a URL or a header. */
export function writeHoldToken({ limiterName, key, estimate, id }: HoldToken): string {
  return Buffer.from(JSON.stringify([limiterName, key, estimate, id])).toString('base64url')
}

/** Reads what `writeHoldToken` wrote, and throws when it is anything else. */
export function readHoldToken(token: unknown): HoldToken {
  const read = typeof token === 'string' ? parse(token) : undefined
  // What is written anew and comes out otherwise was not written here: one hold has one token.
  if (read !== undefined && writeHoldToken(read) === token) return read
  throw invalidOption('token', 'one that reserve() returned', token, 'INVALID_ARGUMENT')
}

function parse(token: string): HoldToken | undefined {
  try {
    const [limiterName, key, estimate, id] = JSON.parse(Buffer.from(token, 'base64url').toString())
    return typeof limiterName === 'string' ? { limiterName, key, estimate, id } : undefined
  } catch {
    return undefined
  }
}
