import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Address } from '../servers/ask.ts'

/** What every process does, all at the same time. */
export interface Job {
  /** One server, or the nodes of a cluster. */
  readonly servers: readonly Address[]
  /** The limiter's. */
  readonly name: string
  /** Which function makes the rule, and what it gets. */
  readonly factory: string
  readonly options: object
  /** Taken in turn. */
  readonly subjects: readonly string[]
  /** How many each process makes, and how many of them wait for their answer at once. */
  readonly requests: number
  readonly inFlight: number
  /** Whether the client collects the commands of one turn of the event loop and sends them together. */
  readonly pipelined: boolean
  /** Each request has a random cost from 1 to this one. */
  readonly mostCost: number
  /** Whether everything that was admitted is refunded after some work. */
  readonly givesBack: boolean
  /** Each decision has a time of its own, up to a second later than this. Absent for the server's time. */
  readonly aroundMs?: number
}

/** What all processes together have got. */
interface Tally {
  /** The costs that were admitted, for each subject. */
  readonly admitted: readonly number[]
  /** With `givesBack`: the highest sum of costs that were admitted and not yet refunded, on any subject. */
  readonly mostAtWork: number
}

/** Processes of their own that wait for jobs. */
export interface Processes {
  /** Rejects when a decision fails in any process. */
  run(job: Job): Promise<Tally>
  /** Resolves when all have ended. */
  stop(): Promise<void>
}

/** Starts processes that run the built package. They end with this one, however it ends. */
export function startProcesses(count: number): Processes {
  // Without the arguments that Vitest gave to its own worker.
  const children = Array.from({ length: count }, () => fork(PROGRAM, { execArgv: [] }))
  return {
    run: async (job) => {
      // All of them have to be done before the next job, also when one has failed.
      const outcomes = await Promise.allSettled(children.map((child) => runOn(child, job)))
      return sumOf(outcomes.map(tallyOf))
    },
    stop: async () => void (await Promise.all(children.map(end))),
  }
}

type Reply = { readonly tally: Tally } | { readonly error: string }

function runOn(child: ChildProcess, job: Job): Promise<Tally> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null) => reject(new Error(`a process ended with code ${code} instead of a tally`))
    child.once('exit', onExit)
    child.once('message', (reply: Reply) => {
      child.off('exit', onExit)
      if ('tally' in reply) resolve(reply.tally)
      else reject(new Error(`in a process: ${reply.error}`))
    })
    child.send(job)
  })
}

function tallyOf(outcome: PromiseSettledResult<Tally>): Tally {
  if (outcome.status === 'rejected') throw outcome.reason
  return outcome.value
}

function sumOf(tallies: readonly Tally[]): Tally {
  const [first] = tallies as [Tally]
  return {
    admitted: first.admitted.map((_, index) => tallies.reduce((sum, { admitted }) => sum + (admitted[index] ?? 0), 0)),
    mostAtWork: Math.max(...tallies.map(({ mostAtWork }) => mostAtWork)),
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (!child.connected) return
  const exit = once(child, 'exit')
  child.disconnect()
  await exit
}

const PROGRAM = new URL('./process.mjs', import.meta.url)
