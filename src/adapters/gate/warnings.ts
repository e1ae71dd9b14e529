import type { Limiter } from '../../limiter/limiter.ts'
import type { WarningCode } from './options.ts'
import type { Reader } from './reader.ts'

/** Tells each mistake once. */
export type Warn = (code: WarningCode, message: string) => void

type AnyLimiter = Limiter<never> | Limiter<string>
type Counters = AnyLimiter | readonly AnyLimiter[]

/** Tells mistakes to `listener`, each code once. */
export function createWarn(listener: ((message: string, code: WarningCode) => void) | undefined): Warn {
  const told = new Set<WarningCode>()
  return (code, message) => {
    if (told.has(code)) return
    told.add(code)
    if (listener !== undefined) listener(message, code)
    // biome-ignore lint/suspicious/noConsole: somebody has to see it, and nobody said where.
    else console.warn(`sluice [${code}]: ${message}: see docs/warnings.md`)
  }
}

/** The reader, which looks whether the address that it is asked for can be the client's. */
export function watchfulReader<Request>(reader: Reader<Request>, warn: Warn): Reader<Request> {
  const { trust } = reader
  if (trust === undefined) return reader
  let isQuiet = false
  return {
    ...reader,
    address(request) {
      if (!isQuiet && reader.header(request, 'x-forwarded-for') !== undefined) {
        isQuiet = true
        const trusted = trust(request)
        if (trusted === 'nobody') {
          warn(
            'PROXY_NOT_TRUSTED',
            'a request came with X-Forwarded-For, but no proxy is trusted: behind a proxy all share its key',
          )
        } else if (trusted === 'everybody') {
          warn(
            'EVERYBODY_TRUSTED',
            'every proxy is trusted: whoever sends X-Forwarded-For chooses the key to be counted by',
          )
        }
      }
      return reader.address(request)
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
    const where = 'it stands both before a route and on it'
    warn('COUNTED_TWICE', `the limiter "${limiter.name}" counts the same request twice: ${where}`)
  } else request[COUNTED_BY] = [before, limiter].flat()
}

/** What is known of the limiters of one name. */
interface Sighting {
  readonly limiter: WeakRef<AnyLimiter>
  /** How many limiters of this name, one after the other, were asked once and then replaced. */
  readonly replaced: number
  /** Whether that has been told: who makes limiters in a handler makes what warns of it there too. */
  readonly isTold: boolean
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
  if (isSuspicious && last?.isTold !== true) {
    const made = `${replaced + 1} limiters named "${limiter.name}" were made, and each was asked once`
    warn('LIMITER_IN_HANDLER', `${made}: make it once, outside of the handler, or nothing is ever counted`)
  }
  if (sightings.size >= MOST_NAMES) sightings.clear()
  const sighting = { limiter: new WeakRef(limiter), replaced, isTold: isSuspicious || last?.isTold === true, asked: 0 }
  sightings.set(limiter.name, sighting)
  return sighting
}
