import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Decision } from '../../src/core/decision.ts'
import type { Rule } from '../../src/core/rule.ts'
import type { Store } from '../../src/core/store.ts'
import { createLimiter } from '../../src/limiter/create-limiter.ts'
import type { Limiter } from '../../src/limiter/limiter.ts'
import { concurrency, fixedWindow, slidingLog, tokenBucket } from '../../src/rules/index.ts'
import { patient } from '../patient.ts'
import type { Address } from '../servers/ask.ts'

type Factory = 'concurrency' | 'fixedWindow' | 'slidingLog' | 'tokenBucket'

const factories: Readonly<Record<Factory, (options: never) => Rule>> = {
  concurrency,
  fixedWindow,
  slidingLog,
  tokenBucket,
}

/** A limiter that can be sent to another process: each rule is the name of its factory and what that gets. */
export interface LimiterText {
  readonly name: string
  readonly tiers: Readonly<Record<string, readonly [factory: Factory, options: object]>>
  readonly hashTag?: boolean
}

interface Place {
  /** One server, or the nodes of a cluster. */
  readonly servers: readonly Address[]
  readonly limiter: LimiterText
}

/** Many requests, whose subjects are picked at random: one that is listed twice comes twice as often. */
export interface SendTask extends Place {
  readonly kind: 'send'
  readonly subjects: Readonly<Record<string, readonly string[]>>
  /** What each request takes of each tier. */
  readonly cost: Readonly<Record<string, number>>
  /** Whether to reserve a little more than the cost, and to settle or cancel that. */
  readonly holds?: boolean
  /** Processes with the same seed send the same requests, with the same ids. Absent: others, without ids. */
  readonly seed?: number
  /** How many at most, how many at once, and after how many refusals in turn it is over. */
  readonly requests: number
  readonly inFlight: number
  readonly untilRefused: number
}

/** What has come of the requests of one process. */
export interface Sent {
  readonly admitted: readonly {
    /** Absent when it had none. */
    readonly id?: string
    readonly key: Readonly<Record<string, string>>
    readonly units: Readonly<Record<string, number>>
  }[]
  readonly refused: number
  readonly refusedBy: Readonly<Record<string, number>>
}

/** Takes one hold for each estimate, and keeps them. */
interface ReserveTask extends Place {
  readonly kind: 'reserve'
  readonly key: string
  readonly estimates: readonly number[]
  readonly holdMs: number
}

/** Takes permits, and keeps them. */
interface AcquireTask extends Place {
  readonly kind: 'acquire'
  readonly key: string
  readonly places: number
  readonly heartbeat: boolean
}

/** A process of its own that decides over tiers. */
export interface TierProcess {
  readonly child: ChildProcess
  run(task: SendTask): Promise<Sent>
  run(task: ReserveTask | AcquireTask | { readonly kind: 'release' }): Promise<readonly Decision[]>
  /** The codes of the errors that its leases were lost with, so far. */
  readonly lost: readonly string[]
  /** Ends it as a crash would, and resolves when it is gone. */
  crash(): Promise<void>
  /** Resolves when it has ended, also when it had before. */
  stop(): Promise<void>
}

type Message =
  | { readonly lost: string }
  | { readonly number: number; readonly outcome?: unknown; readonly error?: string }

/** Starts a process that runs the built package. It ends with this one, however it ends. */
export function startTierProcess(): TierProcess {
  // Without the arguments that Vitest gave to its own worker.
  const child = fork(PROGRAM, { execArgv: [] })
  const waiting = new Map<number, (message: Message) => void>()
  const lost: string[] = []
  let count = 0
  child.on('message', (message: Message) => {
    if ('lost' in message) lost.push(message.lost)
    else waiting.get(message.number)?.(message)
  })
  const gone = once(child, 'exit')
  const run = (task: object): Promise<never> =>
    new Promise((resolve, reject) => {
      const number = count++
      void gone.then(([code, signal]) => reject(new Error(`a process ended with ${code ?? signal} in its task`)))
      waiting.set(number, (message) => {
        if ('lost' in message) return
        if (message.error === undefined) resolve(message.outcome as never)
        else reject(new Error(`in a process: ${message.error}`))
      })
      child.send({ number, task })
    })
  const crash = async () => {
    child.kill('SIGKILL')
    await gone
  }
  const stop = async () => {
    if (child.connected) child.disconnect()
    await gone
  }
  return { child, run, lost, crash, stop }
}

/** The limiter itself, for this process. */
export function limiterOf({ name, tiers, hashTag }: LimiterText, store: Store): Limiter<string> {
  const made = Object.entries(tiers).map(([tier, [factory, options]]) => {
    return [tier, (factories[factory] as (options: object) => Rule)(options)] as const
  })
  return createLimiter({ ...patient, name, tiers: Object.fromEntries(made), store, ...(hashTag && { hashTag }) })
}

/** How many units of each subject of each tier were used by all that was admitted; what came with one id counts once. */
export function unitsOf(outcomes: readonly Sent[]): ReadonlyMap<string, number> {
  const admitted = outcomes.flatMap((outcome) => outcome.admitted)
  const units = new Map<string, number>()
  const seen = new Set<string>()
  for (const { id, key, units: used } of admitted) {
    if (id !== undefined && seen.has(id)) continue
    if (id !== undefined) seen.add(id)
    for (const [tier, subject] of Object.entries(key)) {
      const name = `${tier} ${subject}`
      units.set(name, (units.get(name) ?? 0) + (used[tier] ?? 0))
    }
  }
  return units
}

/** How many units of each of these subjects the tiers themselves say are used. */
export async function usedOf(limiter: Limiter<string>, names: Iterable<string>): Promise<ReadonlyMap<string, number>> {
  const used = new Map<string, number>()
  for (const name of names) {
    const at = name.indexOf(' ')
    const { limit, remaining } = await limiter.peek({ [name.slice(0, at)]: name.slice(at + 1) })
    used.set(name, limit - remaining)
  }
  return used
}

const PROGRAM = new URL('./tier-process.mjs', import.meta.url)
