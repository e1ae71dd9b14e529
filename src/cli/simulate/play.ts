import { setImmediate } from 'node:timers/promises'
import { createSimulation, type SimulationOptions, splitTrace } from '../../simulate/simulate.ts'
import type { Arrival, Contestant, Result, Trace } from '../../simulate/simulation.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { Progress } from './progress.ts'
import type { TraceFile } from './trace-file.ts'

const PART = 4_096

/** Where requests come from, in parts, and how much of it there has been. */
interface Source {
  readonly parts: AsyncIterable<readonly Arrival[]> | Iterable<readonly Arrival[]>
  share(last: Arrival): number
}

/** Plays generated traffic, in steps between which people can see and stop it. */
export async function playTrace(
  contestants: readonly Contestant[],
  trace: Trace,
  options: SimulationOptions,
  terminal: Terminal,
): Promise<readonly Result[]> {
  const { fromMs = 0, untilMs = 0 } = trace
  const share = ({ atMs }: Arrival): number => (atMs - fromMs) / (untilMs - fromMs)
  return play(contestants, { parts: splitTrace(trace, PART), share }, { ...options, fromMs, untilMs }, terminal)
}

/** Plays a file. */
export async function playFile(
  contestants: readonly Contestant[],
  file: TraceFile,
  options: SimulationOptions,
  terminal: Terminal,
): Promise<readonly Result[]> {
  return play(contestants, { parts: file.parts(), share: () => file.share }, options, terminal)
}

async function play(
  contestants: readonly Contestant[],
  { parts, share }: Source,
  options: SimulationOptions,
  terminal: Terminal,
): Promise<readonly Result[]> {
  const simulation = createSimulation(contestants, options)
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
  if (options.untilMs !== undefined) simulation.passTime(options.untilMs)
  return simulation.results()
}
