import { setImmediate } from 'node:timers/promises'
import { type SimulationOptions, splitTrace } from '../../simulate/simulate.ts'
import type { Arrival, Contestant, Simulation, Trace } from '../../simulate/simulation.ts'
import { CommandFailure, UsageError } from '../terminal/command-failure.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { formatNumber } from './column-table.ts'
import { Progress } from './progress.ts'
import { openTraceFile } from './trace-file.ts'
import type { LogKey, TraceFormat } from './trace-line.ts'
import { makeTraffic, type TrafficChoice } from './traffic-choice.ts'

/** Which requests to play, as it was said. */
export interface SourceChoice extends TrafficChoice {
  readonly trace?: string
  readonly traceFormat?: TraceFormat
  readonly logKey: LogKey
  readonly skipBadLines?: boolean
}

/** Makes what plays the requests, for the stretch of time that they are about, if that is known. */
type CreateSimulation<Outcome> = (stretch: Pick<SimulationOptions, 'fromMs' | 'untilMs'>) => Simulation<Outcome>

/** What came of the requests, and what they were, for people. */
export interface PlayedSource<Outcome> {
  readonly about: string
  readonly results: readonly Outcome[]
}

const PART = 4_096

/** Plays the requests that were chosen, in steps between which people can see and stop it. */
export async function playSource<Outcome extends { readonly requests: number }>(
  choice: SourceChoice,
  contestants: readonly Contestant[],
  create: CreateSimulation<Outcome>,
  terminal: Terminal,
): Promise<PlayedSource<Outcome>> {
  if (choice.trace !== undefined) return playFile(choice, choice.trace, create({}), terminal)
  const { trace, about } = makeTraffic(choice, contestants)
  return { about, results: await playTrace(trace, create, terminal) }
}

async function playTrace<Outcome>(
  trace: Trace,
  create: CreateSimulation<Outcome>,
  terminal: Terminal,
): Promise<readonly Outcome[]> {
  const { fromMs = 0, untilMs = 0 } = trace
  const simulation = create({ fromMs, untilMs })
  const share = ({ atMs }: Arrival): number => (atMs - fromMs) / (untilMs - fromMs)
  await play(simulation, { parts: splitTrace(trace, PART), share }, terminal)
  simulation.passTime(untilMs)
  return simulation.results()
}

async function playFile<Outcome extends { readonly requests: number }>(
  { traceFormat, logKey, skipBadLines = false }: SourceChoice,
  path: string,
  simulation: Simulation<Outcome>,
  terminal: Terminal,
): Promise<PlayedSource<Outcome>> {
  const file = await openTraceFile(path, { format: traceFormat, logKey, skipsBadLines: skipBadLines })
  await play(simulation, { parts: file.parts(), share: () => file.share }, terminal)
  const results = simulation.results()
  const { requests } = results[0] as Outcome
  if (requests === 0) throw new UsageError(`the trace ${path} has no requests`)
  if (file.skipped > 0) terminal.err(`${formatNumber(file.skipped)} lines could not be read and were skipped\n`)
  if (file.late > 0)
    terminal.err(`${formatNumber(file.late)} lines came after later ones and count at the time of those\n`)
  return { about: `${formatNumber(requests)} requests of ${path}`, results }
}

/** Where requests come from, in parts, and how much of it there has been. */
interface Source {
  readonly parts: AsyncIterable<readonly Arrival[]> | Iterable<readonly Arrival[]>
  share(last: Arrival): number
}

async function play(
  simulation: Pick<Simulation<unknown>, 'offer'>,
  { parts, share }: Source,
  terminal: Terminal,
): Promise<void> {
  const progress = new Progress(terminal, () => performance.now())
  let requests = 0
  try {
    for await (const part of parts) {
      simulation.offer(part)
      requests += part.length
      progress.show(share(part.at(-1) as Arrival), `${requests.toLocaleString('en-US')} requests`)
      await setImmediate()
      if (terminal.signal.aborted) throw new CommandFailure(`stopped after ${requests} requests`)
    }
  } finally {
    progress.end()
  }
}
