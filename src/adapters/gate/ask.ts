import type { Decision } from '../../core/decision.ts'
import type { Hold } from '../../limiter/hold.ts'
import type { Amounts, ConsumeOptions, Key, Limiter } from '../../limiter/limiter.ts'
import type { Manner } from './manner.ts'

/** A decision, and what the answer to the request has to be told to, if anything. */
export interface Asked {
  readonly decision: Decision
  /** Ends what was taken only for the time of the request. `status` is `undefined` when the client did not get its answer. */
  readonly finish?: ((status: number | undefined) => Promise<unknown>) | undefined
}

/** Whether a request counts, by the status of its answer. */
export type Counts = (status: number) => boolean

/** What is asked for one request. */
export interface Question {
  readonly key: Key<string>
  readonly cost: Amounts<string> | undefined
  readonly id: string | undefined
  readonly counts: Counts | undefined
  readonly holdMs: number
}

/** Asks a limiter about one request: places are released and holds are settled when it is answered. */
export function ask(limiter: Limiter<string>, manner: Manner, question: Question): Promise<Asked> {
  const { key, cost, id, counts } = question
  if (counts !== undefined || manner.isLeased) return take(limiter, question)
  return limiter.consume(key, optionsOf(cost, id)).then(askedOnly)
}

function askedOnly(decision: Decision): Asked {
  return { decision, finish: undefined }
}

function optionsOf(cost: Question['cost'], id: string | undefined): ConsumeOptions<string> | undefined {
  if (cost === undefined && id === undefined) return undefined
  return { ...(cost !== undefined && { cost }), ...(id !== undefined && { id }) }
}

/** Takes for the time of the request. */
async function take(limiter: Limiter<string>, question: Question): Promise<Asked> {
  const { key, cost, counts, holdMs } = question
  if (counts === undefined) {
    const lease = await limiter.acquire(key, cost === undefined ? {} : { cost })
    return { decision: lease.decision, finish: lease.allowed ? () => lease.release() : undefined }
  }
  const hold = await limiter.reserve(key, { estimate: cost ?? 1, holdMs })
  const finish = (status: number | undefined): Promise<unknown> => settle(limiter, hold, question, counts, status)
  return { decision: hold.decision, finish: hold.allowed ? finish : undefined }
}

async function settle(
  limiter: Limiter<string>,
  hold: Hold<string>,
  { key, cost = 1 }: Question,
  counts: Counts,
  status: number | undefined,
): Promise<void> {
  // Who hangs up before the answer would otherwise not be counted at all.
  if (status !== undefined && !counts(status)) await hold.cancel()
  else if ((await hold.settle(cost)).reason === 'hold-ended') await limiter.charge(key, cost)
}
