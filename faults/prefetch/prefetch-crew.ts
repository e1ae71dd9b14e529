import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Rule } from '../../src/core/rule.ts'
import { fixedWindow, slidingLog, slidingWindow, tokenBucket } from '../../src/rules/index.ts'
import { waitUntil } from '../../test/servers/wait-until.ts'
import { type Job, type Load, monotonicMs, startLoad, type Tally } from '../load.ts'
import type { Stage } from '../stage.ts'
import type { DatedAdmission } from './replay.ts'

type Factory = 'fixedWindow' | 'slidingLog' | 'slidingWindow' | 'tokenBucket'

const factories: Readonly<Record<Factory, (options: never) => Rule>> = {
  fixedWindow,
  slidingLog,
  slidingWindow,
  tokenBucket,
}

/** A rule as it is sent to another process: the name of its factory and what that gets. */
type RuleText = readonly [factory: Factory, options: object]

/** What a process that prefetches does: `Job` explains the words that are not here. */
export interface PrefetchJob extends Pick<Job, 'client' | 'topology' | 'servers' | 'deadlineMs' | 'options'> {
  readonly socketTimeoutMs: undefined
  readonly waitsForServer: true
  /** Each has one hot key. */
  readonly rules: readonly RuleText[]
  /** Requests for each of them, in calm times and others together. */
  readonly perSecond: number
  /** How often the load repeats, by the machine's clock, and for how much of that it is calm at first. */
  readonly periodMs: number
  readonly calmMs: number
  /** Where it notes its admissions. */
  readonly file: string
}

/** Each rule lets as much pass in a window. */
export const LIMIT = 500
export const WINDOW_MS = 1_000

const RULES: readonly RuleText[] = [
  ['slidingLog', { limit: LIMIT, window: WINDOW_MS }],
  ['slidingWindow', { limit: LIMIT, window: WINDOW_MS }],
  ['fixedWindow', { limit: LIMIT, window: WINDOW_MS }],
  ['tokenBucket', { capacity: LIMIT, refill: LIMIT, period: WINDOW_MS }],
]

/** What was admitted by one rule. */
export interface RuleAdmissions {
  readonly name: string
  readonly rule: Rule
  readonly admissions: readonly DatedAdmission[]
}

/** One of the processes, and where its notes are. */
export interface Member {
  readonly load: Load
  readonly file: string
}

/** Processes with prefetch, which together ask for twice as much as each of the rules admits. */
export class PrefetchCrew {
  readonly members: Member[] = []
  readonly #gone: Member[] = []
  readonly #stage: Stage
  readonly #job: Omit<PrefetchJob, 'file'>
  readonly #folder: string

  private constructor(stage: Stage, job: Omit<PrefetchJob, 'file'>, folder: string) {
    this.#stage = stage
    this.#job = job
    this.#folder = folder
  }

  static async start(
    stage: Stage,
    processes: number,
    job: Pick<PrefetchJob, 'servers' | 'deadlineMs'> & Partial<PrefetchJob>,
  ): Promise<PrefetchCrew> {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-prefetch-'))
    stage.endLater(() => rm(folder, { recursive: true, force: true }))
    const perSecond = (2 * LIMIT * 1_000) / WINDOW_MS / processes
    const whole = { ...DEFAULTS, client: stage.client, rules: RULES, perSecond, ...job }
    const crew = new PrefetchCrew(stage, whole, folder)
    await Promise.all(Array.from({ length: processes }, () => crew.add()))
    await crew.backOnRedis()
    return crew
  }

  /** Starts one more. */
  async add(): Promise<void> {
    const file = join(this.#folder, `${this.members.length + this.#gone.length}-${monotonicMs()}`)
    const load = await startLoad({ ...this.#job, file }, PROGRAM)
    this.#stage.endLater(() => load.kill())
    this.members.push({ load, file })
  }

  /** Kills the first of them, while it has a grant. */
  async kill(): Promise<void> {
    const member = this.members.shift() as Member
    await this.holding(member)
    member.load.kill()
    this.#gone.push(member)
  }

  /** Resolves when it is as long after the begin of a calm time. */
  async until(afterMs: number): Promise<void> {
    const { periodMs } = this.#job
    await wait((afterMs + periodMs - (Date.now() % periodMs)) % periodMs)
  }

  async backOnRedis(): Promise<number> {
    const sinceMs = monotonicMs()
    return Math.max(...(await Promise.all(this.members.map(({ load }) => load.backOnRedis(sinceMs, LONGEST_MS)))))
  }

  async stop(): Promise<Tally[]> {
    await this.backOnRedis()
    return Promise.all(this.members.map(({ load }) => load.stop()))
  }

  /** Resolves when a process has just spent units of a grant: it is likely to have more of them. */
  async holding({ file }: Member): Promise<void> {
    await waitUntil(async () => {
      const last = (await readNotes(file)).findLast(({ by }) => by === 'prefetch')
      return Date.now() - Number(last?.untilMs) < JUST_NOW_MS ? undefined : 'a process spends no grant'
    })
  }

  /** How many units were spent from grants that were over. With a grant always comes an admission by Redis. */
  async spentDead(): Promise<number> {
    let dead = 0
    for (const notes of await this.#readAll()) {
      const askedMs = new Map<number, number>()
      for (const { index, by, fromMs } of notes) {
        if (by === 'redis') askedMs.set(index, fromMs)
        if (by === 'prefetch' && fromMs - Number(askedMs.get(index)) > LONGEST_GRANT_MS) dead++
      }
    }
    return dead
  }

  #readAll(): Promise<Awaited<ReturnType<typeof readNotes>>[]> {
    return Promise.all([...this.#gone, ...this.members].map(({ file }) => readNotes(file)))
  }

  /** What all of them have admitted so far, by the rules. */
  async admissions(): Promise<readonly RuleAdmissions[]> {
    const notes = (await this.#readAll()).flat()
    return RULES.map(([name, options], index) => ({
      name,
      rule: factories[name](options as never),
      admissions: notes.filter((note) => note.index === index),
    }))
  }
}

async function readNotes(file: string): Promise<(DatedAdmission & { readonly index: number })[]> {
  const lines = (await readFile(file, 'utf8')).split('\n').slice(0, -1)
  return lines.map((line) => {
    const [index, by, fromMs, untilMs] = line.split(' ') as [string, string, string, string]
    return { index: Number(index), by, fromMs: Number(fromMs), untilMs: Number(untilMs) }
  })
}

const PROGRAM = new URL('./prefetch-process.mjs', import.meta.url)
const LONGEST_MS = 20_000
const JUST_NOW_MS = 40
/** `maxTime`, and what a slow round trip adds to it at most. */
const LONGEST_GRANT_MS = 500

const DEFAULTS = {
  topology: 'single',
  socketTimeoutMs: undefined,
  waitsForServer: true,
  options: {},
  // What is spent in calm times leaves a log when it is full.
  periodMs: 2 * WINDOW_MS,
  calmMs: 1.2 * WINDOW_MS,
} as const
