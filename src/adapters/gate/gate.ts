import { startTimer, systemClock } from '../../core/clock.ts'
import type { Decision } from '../../core/decision.ts'
import type { Subject } from '../../core/key.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { HeaderLine } from '../../http/header-lines.ts'
import { NO_KEY, type Refusal, refusalOf } from '../../http/refusal.ts'
import type { Amounts, Key, Limiter } from '../../limiter/limiter.ts'
import { ask, type Counts } from './ask.ts'
import { byIp, keyFunction } from './keys.ts'
import { type Manner, mannerOf } from './manner.ts'
import { checkGateOptions, demandLimiter, type GateOptions } from './options.ts'
import type { Reader } from './reader.ts'
import { createTelling } from './telling.ts'
import { createWarn, noteCount, noteLimiter, watchfulReader } from './warnings.ts'

/** What came of one request. */
export interface Passage {
  /** Absent when the request is not limited, or was refused because it has no key. */
  readonly decision: Decision | undefined
  /** To put on the answer, whichever it is. */
  readonly lines: readonly HeaderLine[]
  /** How to answer a request that must not pass. */
  readonly refusal: Refusal | undefined
  /**
   * To be called once when the request has been answered, with the status, or with `undefined` when the client did not wait for it.
   * Never rejects. Absent when nothing waits for it.
   */
  readonly finish: ((status: number | undefined) => Promise<void>) | undefined
}

/** Decides whether a request may pass, and what its answer has to say. */
export type Gate<Request> = (request: Request) => Promise<Passage>

const NOT_LIMITED: Passage = { decision: undefined, lines: [], refusal: undefined, finish: undefined }
const NOBODY: Passage = { ...NOT_LIMITED, refusal: NO_KEY }

/**
 * Makes the gate of an adapter. Wrong options throw here, at the start.
 *
 * @param what the function that the options were given to, for messages.
 * @param more the adapter's own options.
 */
export function createGate<Request, Tier extends string>(
  what: string,
  options: GateOptions<Request, Tier>,
  reader: Reader<Request>,
  more: readonly string[] = [],
): Gate<Request> {
  checkGateOptions(what, options, more)
  const { limiter: given, key = byIp(), withoutKey, skip, cost, id, headers = 'draft-11', holdMs = 600_000 } = options
  const warn = createWarn(options.onWarning)
  const keyOf = keyFunction<Request>(key)
  const watchful = watchfulReader(reader, warn)
  const tell = createTelling(options, reader)
  const manners = new WeakMap<object, Manner & { readonly sighting: { asked: number } }>()
  const known = (limiter: Limiter<string>) => {
    let manner = manners.get(limiter)
    if (manner === undefined) {
      demandLimiter(limiter)
      manner = { ...mannerOf(limiter, headers), sighting: noteLimiter(limiter, warn) }
      manners.set(limiter, manner)
    }
    return manner
  }
  if (typeof given !== 'function') known(given as Limiter<string>)

  return async (request) => {
    if (options.countPreflight !== true && isPreflight(reader, request)) return NOT_LIMITED
    if (skip !== undefined && (await skip(request))) return NOT_LIMITED
    const limiter = (typeof given === 'function' ? await given(request) : given) as Limiter<string> | undefined
    if (limiter === undefined) return NOT_LIMITED
    const manner = known(limiter)
    const asking = keyOf(request, watchful)
    const found = (asking instanceof Promise ? await asking : asking) ?? sharedKey(withoutKey)
    if (found === undefined) {
      if (withoutKey === undefined) throw noKey(limiter.name)
      return withoutKey === 'skip' ? NOT_LIMITED : NOBODY
    }
    const { decision, finish } = await ask(limiter, manner, {
      key: found,
      cost: (typeof cost === 'function' ? await cost(request) : cost) as Amounts<string> | undefined,
      id: id?.(request),
      counts: countsOf(options, request),
      holdMs,
    })
    manner.sighting.asked++
    noteCount(reader.identity === undefined ? (request as object) : reader.identity(request), limiter, warn)
    if (decision.delayMs > 0) await new Promise<void>((ring) => startTimer(undefined, decision.delayMs, ring))
    const refusal = decision.allowed ? undefined : refusalOf(decision)
    return {
      decision,
      lines: tell(request, manner.told, found, decision, refusal, systemClock),
      refusal,
      finish:
        finish &&
        ((status) =>
          finish(status).then(
            () => {},
            (error) => warn('NOT_SETTLED', `what a request had taken could not be given back or counted: ${error}`),
          )),
    }
  }
}

function isPreflight<Request>(reader: Reader<Request>, request: Request): boolean {
  return reader.method(request) === 'OPTIONS' && reader.header(request, 'access-control-request-method') !== undefined
}

function countsOf<Request, Tier extends string>(
  { countOnly }: GateOptions<Request, Tier>,
  request: Request,
): Counts | undefined {
  if (countOnly === undefined) return undefined
  if (typeof countOnly === 'function') return (status) => countOnly(status, request)
  return countOnly === 'failed' ? isFailure : isSuccess
}

const isFailure: Counts = (status) => status >= 400
const isSuccess: Counts = (status) => status < 400

function sharedKey(withoutKey: GateOptions<unknown>['withoutKey']): Key<string> | undefined {
  if (typeof withoutKey !== 'object') return undefined
  const subject: Subject = { kind: 'shared', name: withoutKey.shared }
  return subject
}

function noKey(name: string): LimiterError {
  const choices = "withoutKey says what to do then: 'refuse', 'skip' or { shared: 'a name' }"
  return new LimiterError('NO_KEY', `the limiter "${name}" found no key for a request: ${choices}`)
}
