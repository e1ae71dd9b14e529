import { wholeNumber } from '../core/check.ts'
import type { LimitResult } from '../core/decision.ts'
import { LimiterError } from '../core/limiter-error.ts'
import { SimulatedStore, type Step } from './simulated-store.ts'
import type { Arrival, Contestant, Result, Simulation, Trace } from './simulation.ts'
import { Tally } from './tally.ts'

/** Options of a simulation. */
export interface SimulationOptions {
  /**
   * The most slots that the time line is cut into, at least 2.
   * @default 60
   */
  readonly slots?: number | undefined
  /**
   * The key whose `remaining` the slots tell.
   * @default the key of the first request
   */
  readonly watchedKey?: string | undefined
  /** A clock in nanoseconds, to measure what a decision takes: only differences count. @default nothing is measured */
  readonly nowNs?: (() => number) | undefined
  /** Told of every decision, rule by rule within a part of the trace, in order of time for each rule. */
  readonly onDecision?: ((contestant: Contestant, arrival: Arrival, verdict: LimitResult) => void) | undefined
  /** The stretch of time that the slots are about. @default that of the trace, or else as long as it turns out to be */
  readonly fromMs?: number | undefined
  readonly untilMs?: number | undefined
}

/** Plays a trace through every rule and says what came of it. */
export function simulate(
  contestants: readonly Contestant[],
  trace: Trace,
  options: SimulationOptions = {},
): readonly Result[] {
  const { fromMs = trace.fromMs, untilMs = trace.untilMs } = options
  const simulation = createSimulation(contestants, { ...options, fromMs, untilMs })
  for (const part of splitTrace(trace)) simulation.offer(part)
  if (untilMs !== undefined) simulation.passTime(untilMs)
  return simulation.results()
}

/** Splits a trace into parts of at most `size` requests, none of them empty. */
export function* splitTrace(trace: Iterable<Arrival>, size: number = PART): Generator<readonly Arrival[]> {
  let part: Arrival[] = []
  for (const arrival of trace) {
    part.push(arrival)
    if (part.length < size) continue
    yield part
    part = []
  }
  if (part.length > 0) yield part
}

/** Rules that are asked the same, each with keys of its own. */
export function createSimulation(contestants: readonly Contestant[], options: SimulationOptions = {}): Simulation {
  const { watchedKey, fromMs, untilMs } = options
  const slots = wholeNumber('slots', options.slots ?? 60, 2)
  const players = contestants.map(
    (one) => new Player(one, new Tally(one, { slots, fromMs, untilMs, watchedKey }), options),
  )
  let nowMs = fromMs
  const moveTo = (atMs: number): void => {
    if (nowMs !== undefined && atMs < nowMs)
      throw new LimiterError('INVALID_TIME', `a trace must be in order of time: ${atMs} ms came after ${nowMs} ms`)
    nowMs = atMs
  }
  return {
    offer(arrivals) {
      for (const { atMs } of arrivals) moveTo(atMs)
      for (const part of splitTrace(arrivals)) for (const player of players) player.play(part)
    },
    passTime(untilMs) {
      if (nowMs === undefined || untilMs <= nowMs) return
      nowMs = untilMs
      for (const player of players) player.passTime(untilMs)
    },
    results: () => players.map((player) => player.result(nowMs ?? 0)),
  }
}

// What is decided in one go before it is judged, so that a measured time has no part of judging in it.
const PART = 512

class Player {
  readonly #contestant: Contestant
  readonly #store: SimulatedStore
  readonly #tally: Tally
  readonly #options: Pick<SimulationOptions, 'nowNs' | 'onDecision'>
  #spentNs = 0
  #decisions = 0

  constructor(contestant: Contestant, tally: Tally, options: SimulationOptions) {
    this.#contestant = contestant
    this.#store = new SimulatedStore(contestant.rule, contestant.blockForMs)
    this.#tally = tally
    this.#options = options
  }

  play(arrivals: readonly Arrival[]): void {
    const { nowNs } = this.#options
    const steps: Step[] = []
    const startNs = nowNs?.() ?? 0
    this.#store.decideAll(arrivals, steps)
    this.#spentNs += (nowNs?.() ?? 0) - startNs
    this.#decisions += arrivals.length
    this.#judge(steps)
    this.#forget()
  }

  passTime(untilMs: number): void {
    const steps: Step[] = []
    this.#store.releaseUntil(untilMs - 1, steps)
    this.#judge(steps)
    this.#tally.passTime(untilMs)
    this.#forget()
  }

  result(nowMs: number): Result {
    const isMeasured = this.#options.nowNs !== undefined && this.#decisions > 0
    return this.#tally.result(nowMs, isMeasured ? this.#spentNs / this.#decisions : undefined)
  }

  #judge(steps: readonly Step[]): void {
    const { onDecision } = this.#options
    for (const step of steps) {
      this.#tally.note(step)
      if (!step.isRelease) onDecision?.(this.#contestant, step.arrival, step.ruling)
    }
  }

  // Only when all is judged: a key that became fresh on the way may have been used again since.
  #forget(): void {
    for (const key of this.#tally.keys.takeGone()) this.#store.forget(key)
  }
}
