import { listRuleVariants } from '../../simulate/rule-variants.ts'
import { type RuleSummary, summarize } from '../../simulate/summary.ts'
import { withRedis } from '../redis/redis-option.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { measureRedisMemory } from './redis-memory.ts'
import { nowNs, resolveFormat, type SimulateOptions } from './simulate-command.ts'
import { formatSummary, type ShownSummary } from './summary-table.ts'

const LIMIT = 100
const LARGE_LIMIT = 10_000
const WINDOW_MS = 60_000

/** Measures every rule on all kinds of traffic and prints the table. */
export async function summaryCommand(options: SimulateOptions, terminal: Terminal): Promise<void> {
  if (terminal.isInteractive) terminal.err('measuring every rule takes some seconds …\n')
  const measured = summarize({ limit: LIMIT, largeLimit: LARGE_LIMIT, windowMs: WINDOW_MS, nowNs })
  const rules = await withRedisBytes(measured, options, terminal)
  terminal.out(
    resolveFormat(options) === 'json' ? `${JSON.stringify({ rules }, undefined, 2)}\n` : formatSummary(rules),
  )
}

async function withRedisBytes(
  rules: readonly RuleSummary[],
  { redis: url }: SimulateOptions,
  terminal: Terminal,
): Promise<readonly ShownSummary[]> {
  if (url === undefined) return rules
  return withRedis(url, terminal, async (redis) => {
    const bytes = new Map<string, number[]>()
    for (const limit of [LIMIT, LARGE_LIMIT]) {
      for (const contestant of listRuleVariants(limit, WINDOW_MS)) {
        const { name } = contestant
        if (!rules.some((rule) => rule.name === name)) continue
        bytes.set(name, [...(bytes.get(name) ?? []), await measureRedisMemory(contestant, redis)])
      }
    }
    return rules.map((rule) => ({ ...rule, redisBytesPerKey: bytes.get(rule.name) as [number, number] | undefined }))
  })
}
