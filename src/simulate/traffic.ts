import { invalidOption, knownOptions, milliseconds, wholeNumber } from '../core/check.ts'
import { type CallerOptions, type Callers, createCallers } from './callers.ts'
import { randomFrom } from './random.ts'
import type { Arrival, Trace } from './simulation.ts'

/** Options of every kind of traffic. */
export interface TrafficOptions extends CallerOptions {
  /** How long it goes on. */
  readonly durationMs: number
  /** @default 0 */
  readonly startMs?: number | undefined
  /** The same seed gives the same requests. @default 1 */
  readonly seed?: number | undefined
}

/** Options of `steady` and `poisson`. */
export interface RateOptions extends TrafficOptions {
  /** Requests in every second, of all keys together; need not be whole. */
  readonly perSecond: number
}

/** Options of `bursts`. */
export interface BurstOptions extends TrafficOptions {
  /** Requests of one burst, all by one key. */
  readonly burst: number
  /** How long a burst lasts. */
  readonly burstMs: number
  /** How long the pause between two bursts is on average. */
  readonly pauseMs: number
}

/** Options of `adversary`. */
export interface AdversaryOptions extends TrafficOptions {
  /** The limit and the window that it aims at. */
  readonly limit: number
  readonly windowMs: number
}

/** Requests at even distances. */
export function steady(options: RateOptions): Trace {
  const stepMs = 1_000 / rate('steady()', options)
  return trace(options, function* (callers, fromMs, untilMs) {
    for (let index = 0; fromMs + index * stepMs < untilMs; index++) {
      yield callers.request(callers.key(), Math.floor(fromMs + index * stepMs))
    }
  })
}

/** Requests that have nothing to do with each other, as those of many people. */
export function poisson(options: RateOptions): Trace {
  const meanMs = 1_000 / rate('poisson()', options)
  return trace(options, function* (callers, fromMs, untilMs) {
    for (let atMs = fromMs + callers.wait(meanMs); atMs < untilMs; atMs += callers.wait(meanMs)) {
      yield callers.request(callers.key(), Math.floor(atMs))
    }
  })
}

/** Many requests of one key within a short time, then a pause. */
export function bursts(options: BurstOptions): Trace {
  knownOptions('bursts()', options, [...COMMON, 'burst', 'burstMs', 'pauseMs'])
  const burst = wholeNumber('burst', options.burst, 1)
  const burstMs = milliseconds('burstMs', options.burstMs)
  const pauseMs = milliseconds('pauseMs', options.pauseMs)
  return trace(options, function* (callers, fromMs, untilMs) {
    for (let startMs = fromMs; startMs < untilMs; startMs += burstMs + Math.floor(callers.wait(pauseMs))) {
      const key = callers.key()
      for (let index = 0; index < burst; index++) {
        yield callers.request(key, startMs + Math.floor((index * burstMs) / burst))
      }
    }
  })
}

/**
 * A client that knows the limit, the window and the clock, and aims at the edge between two windows: takes all in the last millisecond before
 * it, all in the first one after it, and then whatever comes free, as soon as it does. Then it rests until everything is as if
 * untouched. Every other time it opens the window beforehand with one request, for windows that begin with the first.
 */
export function adversary(options: AdversaryOptions): Trace {
  knownOptions('adversary()', options, [...COMMON, 'limit', 'windowMs'])
  const limit = wholeNumber('limit', options.limit, 1)
  const windowMs = milliseconds('windowMs', options.windowMs)
  return trace(options, function* (callers, fromMs, untilMs) {
    // Windows of the clock begin at multiples of their length.
    const firstMs = Math.ceil(fromMs / windowMs) * windowMs
    for (let round = 0; firstMs + 3 * round * windowMs < untilMs; round++) {
      const startMs = firstMs + 3 * round * windowMs
      const key = callers.key()
      for (const atMs of attack(startMs, limit, windowMs, round % 2 === 1)) yield callers.request(key, atMs)
    }
  })
}

function* attack(startMs: number, limit: number, windowMs: number, opens: boolean): Iterable<number> {
  const edgeMs = startMs + windowMs
  if (opens) yield startMs
  for (let index = 0; index < limit; index++) yield edgeMs - 1
  for (let index = 0; index < limit; index++) yield edgeMs
  // Twice as often as something can come free, up to the last time that is within one window of the first blow.
  const lastMs = Math.max(0, windowMs - 2)
  for (let index = 1; index <= 2 * limit; index++) yield edgeMs + Math.floor((index * lastMs) / (2 * limit))
}

const COMMON = ['durationMs', 'startMs', 'seed', 'keys', 'cost', 'workMs']

type Arrivals = (callers: Callers, fromMs: number, untilMs: number) => Iterable<Arrival>

/** Checks the options once. Each walk through the trace starts from the seed, and keeps no request. */
function trace(options: TrafficOptions, arrivals: Arrivals): Trace {
  const { startMs = 0, seed = 1 } = options
  const fromMs = wholeNumber('startMs', startMs, 0)
  const untilMs = fromMs + milliseconds('durationMs', options.durationMs)
  wholeNumber('seed', seed, 0, 2 ** 32 - 1)
  const callers = createCallers(options)
  return {
    fromMs,
    untilMs,
    *[Symbol.iterator]() {
      for (const arrival of arrivals(callers(randomFrom(seed)), fromMs, untilMs)) {
        if (arrival.atMs >= untilMs) return
        yield arrival
      }
    },
  }
}

function rate(what: string, options: RateOptions): number {
  knownOptions(what, options, [...COMMON, 'perSecond'])
  const { perSecond } = options
  if (Number.isFinite(perSecond) && perSecond > 0) return perSecond
  throw invalidOption('perSecond', 'a number above 0', perSecond)
}
