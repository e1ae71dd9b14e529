import { writeFile } from 'node:fs/promises'
import { show } from '../../core/check.ts'
import { createSimulation, type SimulationOptions } from '../../simulate/simulate.ts'
import type { Contestant, Result } from '../../simulate/simulation.ts'
import { withRedis } from '../redis/redis-option.ts'
import { CommandFailure, UsageError } from '../terminal/command-failure.ts'
import { printable, printableJson } from '../terminal/printable.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { countChartSlots, drawChart } from './chart.ts'
import { readContestants } from './contestants.ts'
import { drawPicture } from './picture.ts'
import { type PlayedSource, playSource, type SourceChoice } from './play.ts'
import { measureRedisMemory } from './redis-memory.ts'
import { RefusedKeys } from './refused-keys.ts'
import { formatResults, type ShownResult } from './result-table.ts'

/** What can be printed. */
export const FORMATS = ['table', 'chart', 'json'] as const

/** What was asked of `sluice simulate`, as it was said. */
export interface SimulateOptions extends SourceChoice {
  readonly rule: readonly string[]
  readonly policies?: string
  readonly summary?: boolean
  readonly prefetch?: boolean
  readonly processes?: string
  readonly format: (typeof FORMATS)[number]
  readonly json?: boolean
  readonly svg?: string
  readonly slots?: string
  readonly watch?: string
  readonly redis?: string
}

/** Plays the traffic through the rules and prints what came of it. */
export async function simulateCommand(options: SimulateOptions, terminal: Terminal): Promise<void> {
  const format = resolveFormat(options)
  if (options.processes !== undefined) throw new UsageError('--processes needs --prefetch')
  const contestants = await readContestants(options.rule, options.policies)
  const { about, results } = await playTraffic(options, contestants, terminal)
  const shown = await withRedisBytes(results, contestants, options, terminal)
  if (options.svg !== undefined) await writePicture(options.svg, drawPicture(shown, about))
  if (format === 'json') terminal.out(printableJson({ traffic: about, results: shown }, 2))
  else
    terminal.out(
      `${composeHeading(options, about)}\n\n${format === 'chart' ? drawChart(shown, terminal) : formatResults(shown)}`,
    )
}

function composeHeading({ rule, policies }: SimulateOptions, about: string): string {
  const isDefault = rule.length === 0 && policies === undefined
  return printable(isDefault ? `every rule at 100 a minute: ${about}` : about)
}

/** What to print: `--json` says it shorter. */
export function resolveFormat({ format, json }: SimulateOptions): SimulateOptions['format'] {
  return json === true ? 'json' : format
}

/** Processor time of this process: others on the machine do not make it longer. */
export function nowNs(): number {
  const { user, system } = process.cpuUsage()
  return 1_000 * (user + system)
}

async function playTraffic(
  options: SimulateOptions,
  contestants: readonly Contestant[],
  terminal: Terminal,
): Promise<PlayedSource<ShownResult>> {
  const refusedKeys = new RefusedKeys()
  const slots = resolveSlots(options, terminal)
  const settings: SimulationOptions = { slots, watchedKey: options.watch, nowNs, onDecision: refusedKeys.note }
  const create: Parameters<typeof playSource<Result>>[2] = (stretch) =>
    createSimulation(contestants, { ...settings, ...stretch })
  const { about, results } = await playSource(options, contestants, create, terminal)
  return { about, results: results.map((result) => ({ ...result, mostRefused: refusedKeys.list(result.name) })) }
}

function resolveSlots(options: SimulateOptions, terminal: Terminal): number {
  const { slots } = options
  if (slots === undefined) return resolveFormat(options) === 'chart' ? countChartSlots(terminal) : 60
  if (/^\d{1,5}$/.test(slots) && Number(slots) >= 2) return Number(slots)
  throw new UsageError(`--slots must be a whole number from 2 to 99999, got ${show(slots)}`)
}

async function withRedisBytes(
  results: readonly ShownResult[],
  contestants: readonly Contestant[],
  { redis: url }: SimulateOptions,
  terminal: Terminal,
): Promise<readonly ShownResult[]> {
  if (url === undefined) return results
  return withRedis(url, terminal, async (redis) => {
    const shown: ShownResult[] = []
    for (const [index, result] of results.entries()) {
      shown.push({ ...result, redisBytes: await measureRedisMemory(contestants[index] as Contestant, redis) })
    }
    return shown
  })
}

async function writePicture(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text)
  } catch (error) {
    throw new CommandFailure(`the picture ${path} cannot be written: ${(error as Error).message}`, undefined, {
      cause: error,
    })
  }
}
