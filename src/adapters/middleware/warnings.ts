import { logWarning } from '../../core/explain-hint.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import type { WarningCode } from './options.ts'
import type { RequestAccessor } from './request-accessor.ts'

/** Warns of a mistake, each code once. */
export type Warn = (code: WarningCode, message: string) => void

type AnyLimiter = Limiter<never> | Limiter<string>
type Counters = AnyLimiter | readonly AnyLimiter[]

/** Makes what warns `listener`, or the console where there is none. */
export function createWarn(listener: ((message: string, code: WarningCode) => void) | undefined): Warn {
  const warned = new Set<WarningCode>()
  return (code, message) => {
    if (warned.has(code)) return
    warned.add(code)
    if (listener !== undefined) listener(message, code)
    else logWarning(message, code)
  }
}

// A proxy is there from the first request on, and in some frameworks a look at the headers takes longer than the decision.
const MOST_LOOKS = 1_000

/** Wraps an accessor: it warns when the address cannot be the client's, because of the proxies that the framework trusts. */
export function watchProxies<Request>(accessor: RequestAccessor<Request>, warn: Warn): RequestAccessor<Request> {
  const { trustsProxies } = accessor
  if (trustsProxies === undefined) return accessor
  let looks = 0
  return {
    ...accessor,
    clientAddress(request) {
      if (looks++ < MOST_LOOKS && accessor.header(request, 'x-forwarded-for') !== undefined) {
        looks = MOST_LOOKS
        const trusted = trustsProxies(request)
        if (trusted === 'none') {
          warn(
            'PROXY_NOT_TRUSTED',
            'a request has X-Forwarded-For, but no proxy is trusted. Behind a proxy, all clients share one key',
          )
        } else if (trusted === 'all') {
          const wrong = 'every proxy is trusted: a client chooses its key with X-Forwarded-For'
          warn('ALL_PROXIES_TRUSTED', `${wrong}. Give the number of proxies or their networks`)
        }
      }
      return accessor.clientAddress(request)
    },
  }
}

// On the request itself: a WeakMap of things that live for a moment costs more than the decision.
const COUNTED_BY: unique symbol = Symbol('counted by')

/** Notes that a limiter counts a request, and warns when it has done so before. */
export function noteCount(request: { [COUNTED_BY]?: Counters }, limiter: AnyLimiter, warn: Warn): void {
  const before = request[COUNTED_BY]
  // Most requests are counted by one limiter, and need no list of them.
  if (before === undefined) request[COUNTED_BY] = limiter
  else if (before === limiter || (Array.isArray(before) && before.includes(limiter))) {
    const where = 'it is on the application and on the route. Remove one'
    warn('COUNTED_TWICE', `the limiter "${limiter.name}" counts one request twice: ${where}`)
  } else request[COUNTED_BY] = [before, limiter].flat()
}

/** The last limiter of one name. */
interface Sighting {
  readonly limiter: WeakRef<AnyLimiter>
  /** How many limiters of this name, one after the other, were asked once and then replaced. */
  readonly replaced: number
  /** Whether a warning was given: code that makes limiters in a handler makes the middleware, which warns, there too. */
  readonly isWarned: boolean
  asked: number
}

const sightings = new Map<string, Sighting>()
const MOST_NAMES = 1_000
const SUSPICIOUS = 2

/** Notes a limiter that is seen for the first time, and warns when limiters of its name only live for a request. */
export function noteLimiter(limiter: AnyLimiter, warn: Warn): Sighting {
  const last = sightings.get(limiter.name)
  if (last?.limiter.deref() === limiter) return last
  const replaced = last?.asked === 1 ? last.replaced + 1 : 0
  const isSuspicious = replaced >= SUSPICIOUS
  if (isSuspicious && last?.isWarned !== true) {
    const made = `${replaced + 1} limiters named "${limiter.name}" decided one request each`
    warn('LIMITER_IN_HANDLER', `${made}. Create the limiter once, outside the handler, or it never rejects`)
  }
  if (sightings.size >= MOST_NAMES) sightings.clear()
  const sighting = {
    limiter: new WeakRef(limiter),
    replaced,
    isWarned: isSuspicious || last?.isWarned === true,
    asked: 0,
  }
  sightings.set(limiter.name, sighting)
  return sighting
}
