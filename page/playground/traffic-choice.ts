import { wholeNumber } from '../../src/core/check.ts'
import type { Rule } from '../../src/core/rule.ts'
import { readSpanMs } from '../../src/simulate/simulated-store.ts'
import type { Trace } from '../../src/simulate/simulation.ts'
import { adversary, bursts, poisson, steady, type TrafficOptions } from '../../src/simulate/traffic.ts'
import { parseNumber } from './rule-choice.ts'

/** How requests come. */
export type TrafficKind = 'steady' | 'poisson' | 'bursts' | 'adversary'

/** Traffic as it is being chosen: what people typed for each field, by its word. */
export interface TrafficChoice {
  readonly kind: TrafficKind
  readonly values: Readonly<Record<string, string>>
}

/** One number that shapes the traffic. */
export interface TrafficField {
  /** In the address and as the name of the input. */
  readonly word: string
  readonly label: string
  readonly kind: 'count' | 'duration'
  readonly about: string
  readonly start: string
  /** The kinds of traffic that have it; absent: all of them. */
  readonly only?: readonly TrafficKind[]
}

/** The kinds, each with what it is, in a few words. */
export const TRAFFIC_KINDS: Readonly<Record<TrafficKind, string>> = {
  steady: 'at even intervals',
  poisson: 'independent requests of many clients',
  bursts: 'many at once, then a pause',
  adversary: 'a client that knows the first rule and aims at the edge of its window',
}

/** How many processes may share the requests: each of them takes memory of the page. */
const MOST_PROCESSES = 100

const PROCESSES: TrafficField = {
  word: 'processes',
  label: 'Processes',
  kind: 'count',
  about: 'how many share the requests, for the table of prefetch',
  start: '4',
}

/** All fields, in the order in which they are shown. */
const TRAFFIC_FIELDS: readonly TrafficField[] = [
  {
    word: 'rate',
    label: 'Rate',
    kind: 'count',
    about: 'requests in every second',
    start: '15',
    only: ['steady', 'poisson'],
  },
  { word: 'burst', label: 'Burst', kind: 'count', about: 'requests of one burst', start: '60', only: ['bursts'] },
  {
    word: 'over',
    label: 'Within',
    kind: 'duration',
    about: 'how long a burst lasts',
    start: '1s',
    only: ['bursts'],
  },
  {
    word: 'pause',
    label: 'Pause',
    kind: 'duration',
    about: 'between bursts, on average',
    start: '5s',
    only: ['bursts'],
  },
  { word: 'for', label: 'Duration', kind: 'duration', about: 'how long the traffic lasts', start: '1m' },
  {
    word: 'keys',
    label: 'Keys',
    kind: 'count',
    about: 'how many there are; the first has the most requests',
    start: '1',
  },
  { word: 'cost', label: 'Cost', kind: 'count', about: 'of each request', start: '1' },
  {
    word: 'work',
    label: 'Work',
    kind: 'duration',
    about: 'how long a request works, for concurrency rules',
    start: '500ms',
  },
  PROCESSES,
  { word: 'seed', label: 'Seed', kind: 'count', about: 'the same seed gives the same requests', start: '1' },
]

/** The fields that a kind of traffic has. */
export function listFields(kind: TrafficKind): readonly TrafficField[] {
  return TRAFFIC_FIELDS.filter(({ only }) => only === undefined || only.includes(kind))
}

/** What is typed for a field, or what it starts with. */
export function readValue({ values }: TrafficChoice, { word, start }: TrafficField): string {
  return values[word] ?? start
}

/** The requests of a choice, or why there are none. An adversary aims at `aim`. */
export function makeTrace(choice: TrafficChoice, aim: Rule | undefined): { trace: Trace } | { problem: string } {
  const numbers: Record<string, number> = {}
  for (const field of listFields(choice.kind)) {
    const text = readValue(choice, field)
    const value = parseNumber(field.kind, text)
    if (value === undefined)
      return { problem: `${field.label} must be ${NOUNS[field.kind]}, got ${JSON.stringify(text)}` }
    numbers[field.word] = value
  }
  try {
    wholeNumber('processes', numbers.processes, 1, MOST_PROCESSES)
    return { trace: MAKERS[choice.kind](numbers as Numbers, common(numbers as Numbers), aim) }
  } catch (error) {
    return { problem: (error as Error).message }
  }
}

/** How many processes share the requests of a choice that makes a trace. */
export function readProcesses(choice: TrafficChoice): number {
  return parseNumber(PROCESSES.kind, readValue(choice, PROCESSES)) as number
}

type Numbers = Readonly<Record<'rate' | 'burst' | 'over' | 'pause' | 'for' | 'keys' | 'cost' | 'work' | 'seed', number>>

const NOUNS = { count: 'a number', duration: 'a length of time such as 500ms or 1m' } as const

const MAKERS: Readonly<
  Record<TrafficKind, (numbers: Numbers, common: TrafficOptions, aim: Rule | undefined) => Trace>
> = {
  steady: ({ rate }, options) => steady({ ...options, perSecond: rate }),
  poisson: ({ rate }, options) => poisson({ ...options, perSecond: rate }),
  bursts: ({ burst, over, pause }, options) => bursts({ ...options, burst, burstMs: over, pauseMs: pause }),
  adversary: (_numbers, options, aim) =>
    adversary({ ...options, limit: aim?.limit ?? 1, windowMs: aim === undefined ? 1_000 : readSpanMs(aim) }),
}

function common(numbers: Numbers): TrafficOptions {
  return {
    durationMs: numbers.for,
    keys: numbers.keys,
    cost: numbers.cost,
    workMs: numbers.work,
    seed: numbers.seed,
  }
}
