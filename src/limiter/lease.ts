import { trueOrFalse } from '../core/check.ts'
import { startTimer } from '../core/clock.ts'
import type { Decision } from '../core/decision.ts'
import { createHoldId } from '../core/hold-id.ts'
import { LimiterError } from '../core/limiter-error.ts'
import { createOperation, type LimitKey } from '../core/operation.ts'
import { anything, optional, readOptions } from '../core/read-options.ts'
import type { Signal } from '../core/signal.ts'
import type { AcquireOptions, Key } from './options.ts'
import { COST, parseOperations } from './parse-call.ts'
import { isLeased, type LimiterHost, readLeaseMs, settleHold } from './reservation.ts'

/** A permit of `concurrency()` rules, until it is released. Refused: there is nothing to release. */
export interface Lease<Tier extends string = string> extends AsyncDisposable {
  readonly allowed: boolean
  /** The answer to `acquire`. */
  readonly decision: Decision<Tier>
  /** Aborts when the lease has ended without a release: it was not renewed in time. */
  readonly signal: Signal
  /** Lets the lease last for `leaseMs` from now. `allowed: false` with the reason `reservation-ended`: it was too late. */
  renew(): Promise<Decision<Tier>>
  /** Frees the permit. Releasing twice, or after the lease has ended, changes nothing. */
  release(): Promise<Decision<Tier>>
}

const OPTIONS = { cost: anything, heartbeat: optional(trueOrFalse, true) }

/** Takes a permit of every limit that leases some, and the cost from the others. */
export async function acquire(host: LimiterHost, key: Key<string>, options: AcquireOptions<string>): Promise<Lease> {
  const { cost, heartbeat } = readOptions('acquire()', options, OPTIONS, 'INVALID_ARGUMENT')
  const keys = host.parseKey(key)
  if (!keys.some(isLeased)) {
    const message = 'acquire() needs a concurrency() rule; this limiter has none for the given key. Use consume()'
    throw new LimiterError('INVALID_ARGUMENT', message)
  }
  const startedMs = host.events.startedMs()
  const lease = await takeLease(host, keys, cost, heartbeat, true)
  host.events.decided(key, cost, lease.decision, startedMs)
  return lease
}

/**
 * A lease with its heartbeat. Rejects, and frees the permit, when that cannot be started.
 *
 * @param blocks whether a refusal blocks the key, as its limit says.
 */
export async function takeLease(
  host: LimiterHost,
  keys: readonly LimitKey[],
  cost: unknown,
  heartbeat: boolean,
  blocks: boolean,
): Promise<Lease> {
  const holdId = createHoldId()
  const operations = parseOperations(host.limits, keys, cost, COST, (key, amount) => {
    const holdMs = readLeaseMs(key.limit)
    const blockMs = blocks ? key.limit.blockMs : 0
    if (holdMs === undefined) return createOperation(key, 'consume', { amount, blockMs })
    return createOperation(key, 'reserve', { amount, holdId, holdMs, blockMs })
  })
  const leased = operations.filter(isLeased)
  const renewals = leased.map((key) => createOperation(key, 'extend', { holdId, holdMs: key.holdMs }))
  const everyMs = Math.ceil(Math.min(...leased.map(({ holdMs }) => holdMs)) / 3)
  const release = (): Promise<Decision> => settleHold(host, leased, holdId)
  const decision = await host.decide(operations)
  const lost = new AbortController()
  let isHeld = decision.allowed
  let stop = (): void => {}
  const end = (): void => {
    isHeld = false
    stop()
  }
  const renewed = async (): Promise<Decision> => {
    if (!isHeld) return decision
    const answer = await host.decide(renewals)
    if (isHeld && answer.reason === 'reservation-ended') {
      end()
      lost.abort(
        new LimiterError(
          'LEASE_LOST',
          'the lease expired before it was renewed. End the work: another caller may have the permit',
        ),
      )
    }
    return answer
  }
  const beat = (): void => {
    if (!heartbeat || !isHeld) return
    // A store that fails now may answer at the next beat; only the store knows that a lease has ended.
    stop = startTimer(host.clock, everyMs, () => void renewed().then(beat, beat), { keepsAlive: false })
  }
  try {
    beat()
  } catch (error) {
    // Its caller gets no lease, and so could not release it.
    await Promise.allSettled([release()])
    throw error
  }
  const released = async (): Promise<Decision> => {
    if (!decision.allowed) return decision
    end()
    return release()
  }
  return {
    allowed: decision.allowed,
    decision,
    signal: lost.signal,
    renew: renewed,
    release: released,
    async [Symbol.asyncDispose]() {
      if (isHeld) await released()
    },
  }
}
