import type { Subject } from '../../core/key.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { Amounts, Key, Limiter } from '../../limiter/limiter.ts'
import { createJudge } from './judge.ts'
import { byIp, keyFunction } from './keys.ts'
import { knownLimiters } from './known-limiters.ts'
import { checkGateOptions, type GateOptions } from './options.ts'
import { NOBODY, NOT_LIMITED, type Passage } from './passage.ts'
import type { Reader } from './reader.ts'
import { createWarn, watchfulReader } from './warnings.ts'

/** Decides whether a request may pass, and what its answer has to say: at once when nothing has to be waited for. */
export type Gate<Request> = (request: Request) => Passage | Promise<Passage>

type Cost = Amounts<string> | undefined

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
  const { limiter: given, key = byIp(), withoutKey, skip, cost, headers = 'draft-11' } = options
  const warn = createWarn(options.onWarning)
  const keyOf = keyFunction<Request>(key)
  const watchful = watchfulReader(reader, warn)
  const know = knownLimiters(headers, warn)
  const judge = createJudge(options, reader, warn)
  const shared = sharedKey(withoutKey)
  const only = typeof given === 'function' ? undefined : know(given as Limiter<string>)

  const byFunctions = async (request: Request): Promise<Passage> => {
    if (skip !== undefined && (await skip(request))) return NOT_LIMITED
    const limiter = (typeof given === 'function' ? await given(request) : given) as Limiter<string> | undefined
    if (limiter === undefined) return NOT_LIMITED
    const known = know(limiter)
    const found = (await keyOf(request, watchful)) ?? shared
    if (found === undefined) return withNoKey(withoutKey, limiter.name)
    return judge(request, known, found, (typeof cost === 'function' ? await cost(request) : cost) as Cost)
  }
  if (only === undefined || skip !== undefined || typeof cost === 'function') {
    return (request) => (isPassedOver(options, reader, request) ? NOT_LIMITED : byFunctions(request))
  }
  const byKey = (request: Request, found: Key<string> | undefined | null): Passage | Promise<Passage> => {
    const key = found ?? shared
    return key === undefined ? withNoKey(withoutKey, only.limiter.name) : judge(request, only, key, cost as Cost)
  }
  // Most gates have nothing to ask first but the key, and for that nobody has to wait.
  return (request) => {
    if (isPassedOver(options, reader, request)) return NOT_LIMITED
    const found = keyOf(request, watchful)
    return found instanceof Promise ? found.then((key) => byKey(request, key)) : byKey(request, found)
  }
}

/** Whether it is a preflight request that is not to be counted. */
function isPassedOver<Request>(
  { countPreflight }: { readonly countPreflight?: boolean },
  reader: Reader<Request>,
  request: Request,
): boolean {
  if (countPreflight === true || reader.method(request) !== 'OPTIONS') return false
  return reader.header(request, 'access-control-request-method') !== undefined
}

function sharedKey(withoutKey: GateOptions<unknown>['withoutKey']): Key<string> | undefined {
  if (typeof withoutKey !== 'object') return undefined
  const subject: Subject = { kind: 'shared', name: withoutKey.shared }
  return subject
}

function withNoKey(withoutKey: GateOptions<unknown>['withoutKey'], name: string): Passage {
  if (withoutKey !== undefined) return withoutKey === 'skip' ? NOT_LIMITED : NOBODY
  const choices = "withoutKey says what to do then: 'refuse', 'skip' or { shared: 'a name' }"
  throw new LimiterError('NO_KEY', `the limiter "${name}" found no key for a request: ${choices}`)
}
