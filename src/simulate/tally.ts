import type { Rule } from '../core/rule.ts'
import { peek } from '../engine/consume.ts'
import { type KeyState, UNTOUCHED } from '../engine/key-state.ts'
import type { AdmittedCounts } from './admitted-counts.ts'
import { AdmittedInWindow } from './admitted-in-window.ts'
import { AtWork } from './at-work.ts'
import { KeyAccount } from './key-account.ts'
import { readLeaseMs, type Step } from './simulated-store.ts'
import type { Contestant, Result } from './simulation.ts'
import { TimeLine } from './time-line.ts'

/** Into how many parts a window is cut to see bursts. */
const BURSTS_A_WINDOW = 100

/** What a tally reports. */
export interface TallyOptions {
  readonly slots: number
  readonly fromMs: number | undefined
  readonly untilMs: number | undefined
  readonly watchedKey: string | undefined
}

/** Counts what one rule decides, step by step, and how far that is from an exact log. */
export class Tally {
  readonly keys: KeyAccount
  readonly #rule: Rule
  readonly #name: string
  readonly #admitted: AdmittedCounts
  readonly #bursts: AdmittedCounts
  readonly #timeLine: TimeLine
  #watchedKey: string | undefined
  #watched: KeyState = UNTOUCHED
  readonly #sums = { requests: 0, offered: 0, admitted: 0, wronglyAdmitted: 0, wronglyRefused: 0 }
  readonly #delays = { admitted: 0, sumMs: 0, longestMs: 0 }

  constructor({ name, rule }: Contestant, { slots, fromMs, untilMs, watchedKey }: TallyOptions) {
    this.#name = name
    this.#rule = rule
    this.#watchedKey = watchedKey
    this.#timeLine = new TimeLine(slots, fromMs, untilMs)
    this.keys = new KeyAccount(rule)
    const leaseMs = readLeaseMs(rule)
    const windowMs = rule.windowMs ?? (leaseMs as number)
    this.#admitted = leaseMs === undefined ? new AdmittedInWindow(windowMs) : new AtWork(leaseMs)
    this.#bursts = new AdmittedInWindow(windowMs / BURSTS_A_WINDOW)
  }

  note({ arrival, ruling, atMs, isRelease }: Step): void {
    const { key, cost } = arrival
    this.#watchedKey ??= key
    this.#timeLine.moveTo(atMs, this.#remainingAt)
    if (ruling.allowed || ruling.block !== undefined) this.keys.note(key, ruling, atMs)
    if (key === this.#watchedKey) this.#watched = ruling
    if (isRelease) return
    const { allowed, delayMs } = ruling
    this.#timeLine.add(allowed ? cost : 0, allowed ? 0 : cost)
    this.#sums.requests++
    this.#sums.offered += cost
    // A request that has to wait passes when it is its turn.
    const passesMs = atMs + delayMs
    const hasRoom = this.#admitted.sum(key, passesMs) + cost <= this.#rule.limit
    if (!allowed) {
      if (hasRoom) this.#sums.wronglyRefused++
      return
    }
    if (!hasRoom) this.#sums.wronglyAdmitted++
    this.#sums.admitted += cost
    this.#admitted.add(arrival, passesMs)
    this.#bursts.add(arrival, passesMs)
    this.#delays.admitted++
    this.#delays.sumMs += delayMs
    this.#delays.longestMs = Math.max(this.#delays.longestMs, delayMs)
  }

  /** Moves on to just before `untilMs`. */
  passTime(untilMs: number): void {
    this.#timeLine.moveTo(untilMs - 1, this.#remainingAt)
    this.keys.expire(untilMs - 1)
  }

  result(nowMs: number, nanosecondsPerDecision: number | undefined): Result {
    const { requests, offered, admitted, wronglyAdmitted, wronglyRefused } = this.#sums
    const { limit, kind } = this.#rule
    const { most } = this.#admitted
    return {
      name: this.#name,
      kind,
      limit,
      requests,
      offered,
      admitted,
      refused: offered - admitted,
      worstWindow: most,
      worstOverLimit: most / limit,
      largestBurst: this.#bursts.most,
      wronglyAdmitted,
      wronglyRefused,
      accuracy: requests === 0 ? 1 : 1 - (wronglyAdmitted + wronglyRefused) / requests,
      meanDelayMs: this.#delays.admitted === 0 ? 0 : this.#delays.sumMs / this.#delays.admitted,
      longestDelayMs: this.#delays.longestMs,
      peakKeys: this.keys.peakKeys,
      peakBytes: this.keys.peakBytes,
      nanosecondsPerDecision,
      slots: this.#timeLine.slots(nowMs, this.#remainingAt),
    }
  }

  readonly #remainingAt = (nowMs: number): number => peek(this.#rule, this.#watched, 1, nowMs).remaining
}
