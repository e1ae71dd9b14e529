import type { Decision } from '../../core/decision.ts'
import type { Duration } from '../../core/duration.ts'
import type { Amounts, Key } from '../../limiter/options.ts'
import type { LimiterInfo } from './limiter-info.ts'
import type { MiddlewareOptions } from './options.ts'
import type { Warn } from './warnings.ts'

/** Ends what a request holds, by the response's status: `undefined` when the client did not wait for the response. Never rejects. */
export type Finish = (status: number | undefined) => Promise<void>

/** A decision whose cost is held until the response has ended. */
export interface HeldRequest {
  readonly decision: Decision
  /** Absent when the request was refused. */
  readonly finish: Finish | undefined
}

/** What to hold for one request. */
export interface HoldCall {
  readonly key: Key<string>
  readonly cost: Amounts<string> | undefined
  /** Whether the request counts, by the status of its response. Absent: it takes permits, which the end of the response releases. */
  readonly counts: ((status: number) => boolean) | undefined
  readonly expiresIn: Duration
}

/** Takes the cost of a request for as long as it runs. */
export async function holdRequest({ limiter }: LimiterInfo, call: HoldCall, warn: Warn): Promise<HeldRequest> {
  const { key, cost, counts, expiresIn } = call
  const finishBy =
    (end: (status: number | undefined) => Promise<unknown>): Finish =>
    (status) =>
      end(status).then(
        () => {},
        (error) => warn('NOT_SETTLED', `a request was neither counted nor refunded: ${error}`),
      )
  if (counts === undefined) {
    const lease = await limiter.acquire(key, cost === undefined ? {} : { cost })
    return { decision: lease.decision, finish: lease.allowed ? finishBy(() => lease.release()) : undefined }
  }
  const used = cost ?? 1
  const hold = await limiter.reserve(key, { estimate: used, expiresIn })
  const settle = async (status: number | undefined): Promise<void> => {
    // A client that hangs up before the response counts: otherwise hanging up would be a way around the limit.
    if (status !== undefined && !counts(status)) await hold.cancel()
    else if ((await hold.settle(used)).reason === 'reservation-ended') await limiter.charge(key, used)
  }
  return { decision: hold.decision, finish: hold.allowed ? finishBy(settle) : undefined }
}

/** Resolves the option `count` for one request. */
export function resolveCounts<Request>(
  count: MiddlewareOptions<Request, string>['count'],
  request: Request,
): HoldCall['counts'] {
  if (count === undefined || count === false) return undefined
  if (typeof count === 'function') return (status) => count(status, request)
  return count === 'failed' ? (status) => status >= 400 : (status) => status < 400
}
