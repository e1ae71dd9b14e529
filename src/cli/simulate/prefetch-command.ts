import { show } from '../../core/check.ts'
import type { PrefetchTerms } from '../../core/limit.ts'
import { assertPrefetches, readPrefetch } from '../../limiter/prefetch-option.ts'
import { createPrefetchSimulation, MOST_PROCESSES, type PrefetchContestant } from '../../simulate/simulate-prefetch.ts'
import { UsageError } from '../terminal/command-failure.ts'
import { printable, printableJson } from '../terminal/printable.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { type NamedContestant, readContestants } from './contestants.ts'
import { playSource } from './play.ts'
import { formatPrefetchResults } from './prefetch-table.ts'
import { resolveFormat, type SimulateOptions } from './simulate-command.ts'

/** Plays the traffic on processes that prefetch, and on others that do not, and prints what came of both. */
export async function prefetchCommand(options: SimulateOptions, terminal: Terminal): Promise<void> {
  assertFits(options)
  const processes = readProcesses(options.processes)
  const contestants = await readPrefetching(options, terminal)
  const create = () => createPrefetchSimulation(contestants, processes)
  const choice = { ...options, duration: options.duration ?? '10s' }
  const { about, results } = await playSource(choice, contestants, create, terminal)
  const traffic = `${processes === 1 ? 'one process' : `${processes} processes`}, ${about}`
  if (resolveFormat(options) === 'json') terminal.out(printableJson({ traffic, processes, results }, 2))
  else terminal.out(`${printable(traffic)}\n\n${formatPrefetchResults(results)}`)
}

/** What shows one rule over time, and has no place for processes. */
const OTHERS = ['summary', 'svg', 'slots', 'watch', 'redis'] as const

function assertFits(options: SimulateOptions): void {
  const other = OTHERS.find((name) => options[name] !== undefined)
  if (other !== undefined) throw new UsageError(`--prefetch does not go with --${other}. Remove one`)
  if (options.format === 'chart') throw new UsageError('--prefetch has no chart: use --format table or json')
  if (options.rule.length > 0 || options.policies !== undefined) return
  const example = "--rule 'sliding-window limit=1000000 window=1m'"
  throw new UsageError(`--prefetch needs a rule, such as ${example}, or --policies`)
}

function readProcesses(text = '4'): number {
  if (/^\d{1,4}$/.test(text) && Number(text) >= 1 && Number(text) <= MOST_PROCESSES) return Number(text)
  throw new UsageError(`--processes must be a whole number from 1 to ${MOST_PROCESSES}, got ${show(text)}`)
}

/** Those that can prefetch, as the file says or else by the defaults. A rule that was named and cannot is a mistake. */
async function readPrefetching(options: SimulateOptions, terminal: Terminal): Promise<readonly PrefetchContestant[]> {
  const all = await readContestants(options.rule, options.policies)
  const named = all.slice(0, options.rule.length)
  for (const { rule } of named) assertPrefetches(rule)
  const able = all.filter(({ rule }) => rule.prefetches === true)
  for (const { name, rule } of all) {
    if (rule.prefetches !== true) terminal.err(`${printable(name)}: ${rule.kind} cannot prefetch, and is not played\n`)
  }
  if (able.length === 0) throw new UsageError(`no limit of ${options.policies} can prefetch`)
  return able.map((one) => ({ ...one, prefetch: readTerms(one) }))
}

function readTerms({ prefetch }: NamedContestant): PrefetchTerms {
  return readPrefetch('prefetch', prefetch || true) as PrefetchTerms
}
