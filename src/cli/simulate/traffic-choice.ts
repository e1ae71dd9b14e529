import { show } from '../../core/check.ts'
import { duration } from '../../core/duration.ts'
import { readSpanMs } from '../../simulate/simulated-store.ts'
import type { Contestant, Trace } from '../../simulate/simulation.ts'
import { adversary, bursts, poisson, steady, type TrafficOptions } from '../../simulate/traffic.ts'
import { type CommandFailure, UsageError } from '../terminal/command-failure.ts'
import { writeDuration } from './duration-text.ts'

/** The kinds of traffic that can be made. */
export const TRAFFIC = ['poisson', 'steady', 'bursts', 'adversary'] as const

/** What was said about the traffic, as it was said. */
export interface TrafficChoice {
  readonly traffic: (typeof TRAFFIC)[number]
  readonly rate?: string
  readonly duration?: string
  readonly keys?: string
  readonly cost?: string
  readonly burst?: string
  readonly burstLength?: string
  readonly pause?: string
  readonly work?: string
  readonly seed?: string
}

/** A trace and how it came about, for people. */
export interface ChosenTraffic {
  readonly trace: Trace
  readonly about: string
}

/** Makes the traffic. What was left out is made so that the first of the rules has something to refuse. */
export function makeTraffic(choice: TrafficChoice, [first]: readonly Contestant[]): ChosenTraffic {
  const { rule } = first as Contestant
  const { limit } = rule
  const windowMs = readSpanMs(rule)
  const common = readCommon(choice, windowMs)
  const keys = common.keys ?? 1
  const span = `for ${writeDuration(common.durationMs)}, ${keys === 1 ? 'one key' : `${keys} keys`}, seed ${common.seed ?? 1}`
  switch (choice.traffic) {
    case 'poisson':
    case 'steady': {
      const perSecond = choice.rate === undefined ? (1_200 * limit * keys) / windowMs : readRate(choice.rate)
      const made = choice.traffic === 'poisson' ? poisson : steady
      const how = choice.traffic === 'poisson' ? 'at random' : 'evenly'
      return { trace: made({ ...common, perSecond }), about: `${round(perSecond)} requests a second ${how}, ${span}` }
    }
    case 'bursts': {
      const burst = readCount('--burst', choice.burst, 1) ?? Math.ceil(0.8 * limit)
      const burstMs = readTime('--burst-length', choice.burstLength) ?? Math.max(1, Math.ceil(windowMs / 25))
      const pauseMs = readTime('--pause', choice.pause) ?? Math.max(1, Math.ceil(windowMs / 2))
      const about = `${burst} requests within ${writeDuration(burstMs)}, then a pause of ${writeDuration(pauseMs)} on average, ${span}`
      return { trace: bursts({ ...common, burst, burstMs, pauseMs }), about }
    }
    case 'adversary': {
      const about = `an adversary who aims at ${limit} in ${writeDuration(windowMs)}, ${span}`
      return { trace: adversary({ ...common, limit, windowMs }), about }
    }
  }
}

const WINDOWS = 30
const TEN_YEARS_MS = 3_653 * 86_400_000

function readCommon(choice: TrafficChoice, windowMs: number): TrafficOptions {
  return {
    durationMs: readTime('--duration', choice.duration) ?? Math.min(WINDOWS * windowMs, TEN_YEARS_MS),
    keys: readCount('--keys', choice.keys, 1),
    seed: readCount('--seed', choice.seed, 0),
    workMs: readTime('--work', choice.work),
    cost: choice.cost === undefined ? undefined : readCost(choice.cost),
  }
}

/** `120`, `120/s`, `100/m` or `5/10s` as requests in a second. */
function readRate(text: string): number {
  const [, count, period] = /^(\d+(?:\.\d+)?)(?:\/(.+))?$/.exec(text) ?? []
  if (count === undefined)
    throw createOptionError('--rate', 'a number of requests, such as 120/s, 100/m or 5/10s', text)
  const periodMs = period === undefined ? 1_000 : readTime('--rate', /^\d/.test(period) ? period : `1${period}`)
  return (1_000 * Number(count)) / (periodMs as number)
}

function readCost(text: string): TrafficOptions['cost'] {
  const [, least, most = least] = /^(\d+)(?:-(\d+))?$/.exec(text) ?? []
  if (least === undefined) throw createOptionError('--cost', 'a whole number, or two such as 1-5', text)
  return { least: Number(least), most: Number(most) }
}

function readCount(option: string, text: string | undefined, least: number): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,15}$/.test(text) && Number(text) >= least) return Number(text)
  throw createOptionError(option, `a whole number of at least ${least}`, text)
}

function readTime(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  try {
    return duration(text)
  } catch {
    throw createOptionError(option, 'a duration, such as 250ms, 1m or 1h30m (units ms, s, m, h, d, w)', text)
  }
}

function createOptionError(option: string, rule: string, text: string): CommandFailure {
  return new UsageError(`${option} must be ${rule}, got ${show(text)}`)
}

function round(value: number): string {
  return value.toLocaleString('en-US', { maximumSignificantDigits: 3 })
}
