import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Address } from '../test/servers/ask.ts'

/** What a process of the load asks, and by which client. */
export interface Job {
  readonly client: 'ioredis' | 'node-redis'
  readonly topology: 'single' | 'sentinel' | 'cluster'
  /** The server, the Sentinels, or nodes of the cluster. */
  readonly servers: readonly Address[]
  /** After how long without an answer the client gives a connection up; `undefined`: never. */
  readonly socketTimeoutMs: number | undefined
  /** Whether a client that has to be connected is waited for. */
  readonly waitsForServer: boolean
  /** The rule is a log: exactly that number in any window. */
  readonly limit: number
  readonly windowMs: number
  readonly deadlineMs: number
  /** More options of `createLimiter`. */
  readonly options: object
  /** How many ask at the same time, and how long each of them rests after an answer. */
  readonly loops: number
  readonly pauseMs: number
  /** How many keys there are beside the hot one, which a quarter of all ask for. */
  readonly keys: number
  /** Every decision has a key of its own instead. */
  readonly freshKeys: boolean
  /** Whether decisions are made at the time of the process, and not at the server's. */
  readonly ownTime: boolean
}

/** An admission of the hot key: when it was asked for, when it was answered, and who decided. Monotonic milliseconds. */
export type Admission = readonly [startMs: number, endMs: number, by: string]

/** The answers that a process got. */
export interface Tally {
  readonly decided: number
  readonly longestMs: number
  /** The same without the time for which the process had no processor to run on. */
  readonly longestOwnMs: number
  /** How many decisions each kind of decider made, how many were refused for which reason, and how many threw what. */
  readonly by: Readonly<Record<string, number>>
  readonly reasons: Readonly<Record<string, number>>
  readonly errors: Readonly<Record<string, number>>
  readonly unhandled: readonly string[]
  readonly admitted: { readonly count: number; readonly hot: readonly Admission[] }
  /** How often the limiter reported these. */
  readonly degraded: number
  readonly recovered: number
  /** With `freshKeys`, all of them. */
  readonly keys: readonly string[]
  /** How many of the limiter's timers were still running after `close()`. */
  readonly timersLeft: number
  /** Whether the process came to its end once limiter and client were closed. */
  readonly endedByItself: boolean
}

interface Watched {
  readonly state: 'healthy' | 'degraded'
  readonly byRedisMs?: number
  readonly byOtherMs?: number
}

/** A process under load. */
export interface Load {
  /** This many more decisions at once; resolves when all have been asked for. */
  burst(count: number): Promise<void>
  /** Moves the process's wall clock away from the true time. */
  stepClock(byMs: number): Promise<void>
  /** Resolves when the process is healthy and decisions that were asked for after `sinceMs` are made by Redis, and says how long it took. */
  backOnRedis(sinceMs: number, longestMs: number): Promise<number>
  /** Resolves when every call has been answered and the process has ended. */
  stop(): Promise<Tally>
  /** Ends it, whatever it does. */
  kill(): void
  /** Stops the process as a machine that sleeps does, until it goes on. */
  pause(): void
  goOn(): void
}

/** Starts a process that runs the built package under load. It ends with this one, however it ends. */
export async function startLoad(job: object, program: URL = PROGRAM): Promise<Load> {
  // Without the arguments that Vitest gave to its own worker.
  const child = fork(fileURLToPath(program), { execArgv: [] })
  const order = orderer(child)
  await order('start', job)
  return {
    burst: async (count) => void (await order('burst', { count })),
    stepClock: async (byMs) => void (await order('step', { byMs })),
    async backOnRedis(sinceMs, longestMs) {
      for (;;) {
        const { state, byRedisMs, byOtherMs = 0 } = (await order('watch', { sinceMs })) as Watched
        const isBack = byRedisMs !== undefined && state === 'healthy' && monotonicMs() - byOtherMs > CALM_MS
        if (isBack) return Math.max(0, byRedisMs - sinceMs, byOtherMs - sinceMs)
        if (monotonicMs() - sinceMs > longestMs) return Number.POSITIVE_INFINITY
        await wait(20)
      }
    },
    async stop() {
      const gone = once(child, 'exit')
      const tally = (await order('stop')) as Omit<Tally, 'endedByItself'>
      const endedByItself = (await Promise.race([gone, wait(LONGEST_END_MS, 'late')])) !== 'late'
      child.kill('SIGKILL')
      return { ...tally, endedByItself }
    },
    kill: () => void child.kill('SIGKILL'),
    pause: () => void child.kill('SIGSTOP'),
    goOn: () => void child.kill('SIGCONT'),
  }
}

/** Milliseconds on a clock that never steps and that all processes of the machine share. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** Sends orders to a process, and resolves with what it answers to each. */
function orderer(child: ChildProcess): (order: string, given?: object) => Promise<unknown> {
  const waiting = new Map<number, { resolve(outcome: unknown): void; reject(error: Error): void }>()
  let count = 0
  child.on('message', ({ number, outcome, error }: { number: number; outcome?: unknown; error?: string }) => {
    if (error === undefined) waiting.get(number)?.resolve(outcome)
    else waiting.get(number)?.reject(new Error(`in a process: ${error}`))
    waiting.delete(number)
  })
  child.once('exit', (code, signal) => {
    for (const { reject } of waiting.values()) reject(new Error(`a process ended with ${code ?? signal}`))
  })
  return (order, given) =>
    new Promise((resolve, reject) => {
      const number = count++
      waiting.set(number, { resolve, reject })
      child.send({ number, order, given })
    })
}

// It takes a `Job`.
const PROGRAM = new URL('./load-process.mjs', import.meta.url)

// After such a time in which Redis decided alone, no other decider is expected.
const CALM_MS = 250
const LONGEST_END_MS = 8_000
