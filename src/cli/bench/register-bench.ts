import { randomBytes } from 'node:crypto'
import { cpus } from 'node:os'
import type { Rule } from '../../core/rule.ts'
import type { Store } from '../../core/store.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import * as exportedForms from '../../rules/forms.ts'
import { type RuleForm, ruleFrom, wordOf } from '../../rules/rule-form.ts'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import { redisStore } from '../../stores/redis/redis-store.ts'
import type { RegisterCommand } from '../command/command.ts'
import { REDIS_OPTION, resolveRedisUrl, withRedis } from '../redis/redis-option.ts'
import { CommandFailure, EXIT } from '../terminal/command-failure.ts'
import { table } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { type Measured, measure } from './measure.ts'
import { removeKeys } from './remove-keys.ts'

/** `sluice bench`: how fast it is on this machine. */
export const registerBench: RegisterCommand = (program, terminal) => {
  program
    .command('bench')
    .description('how many decisions a second this machine makes, in memory and, with --redis, on Redis')
    .option(...REDIS_OPTION)
    .option('--seconds <n>', 'how long each line is measured', '2')
    .option('--keys <n>', 'over how many keys', '1000')
    .option('--rule <name...>', 'only these rules')
    .option('--json', 'as JSON')
    .addHelpText('after', EXAMPLES)
    .action((options: BenchOptions) => bench(options, terminal))
}

interface BenchOptions {
  readonly redis?: string
  readonly seconds: string
  readonly keys: string
  readonly rule?: readonly string[]
  readonly json?: true
}

interface BenchLine extends Measured {
  readonly rule: string
  readonly store: string
  readonly inFlight: number
}

/** What is measured, and until when. */
interface Plan {
  readonly forms: readonly RuleForm[]
  readonly keys: number
  readonly forMs: number
  readonly signal: AbortSignal
}

async function bench(options: BenchOptions, terminal: Terminal): Promise<void> {
  const forMs = 1_000 * within('--seconds', options.seconds, 0.01, 60)
  const keys = Math.floor(within('--keys', options.keys, 1, 1_000_000))
  const plan: Plan = { forms: formsNamed(options.rule), keys, forMs, signal: terminal.signal }
  const models = [...new Set(cpus().map(({ model }) => model.trim()))]
  const machine = `Node ${process.version}, ${cpus().length} × ${models.join(', ')}`
  if (!options.json) terminal.err(`${machine}; ${forMs / 1_000} s a line, ${keys} keys\n`)
  const lines = await measureLines(memoryStore(), 1, plan)
  if (resolveRedisUrl(options.redis, terminal) !== undefined)
    lines.push(...(await redisLines(options.redis, plan, terminal)))
  if (options.json) terminal.out(`${JSON.stringify({ machine, forMs, keys, lines }, null, 2)}\n`)
  else terminal.out(formatLines(lines))
}

function redisLines(url: string | undefined, plan: Plan, terminal: Terminal): Promise<BenchLine[]> {
  return withRedis(url, terminal, async (redis) => {
    const prefix = `sluice-bench-${randomBytes(8).toString('hex')}:`
    const store = redisStore(redis.client, { prefix })
    try {
      await store.warmUp()
      return [...(await measureLines(store, 1, plan)), ...(await measureLines(store, IN_FLIGHT, plan))]
    } finally {
      await removeKeys(redis, prefix)
    }
  })
}

async function measureLines(
  store: Store,
  inFlight: number,
  { forms, keys, forMs, signal }: Plan,
): Promise<BenchLine[]> {
  const lines: BenchLine[] = []
  for (const form of forms) {
    const measured = await measureRule(form, store, keys, { forMs, inFlight, signal })
    // What was cut short says nothing.
    if (signal.aborted) break
    lines.push({ rule: form.name, store: store.name, inFlight, ...measured })
  }
  return lines
}

const IN_FLIGHT = 512

/** A rule with room for all of it, so that everything passes, and from which little comes back, so that every key is in use. */
function roomy(form: RuleForm): Rule {
  const needed = form.fields.filter(({ example }) => example !== undefined)
  const given = needed.map((field, index) => [wordOf(field), index === 0 ? ROOM : (field.example as number | string)])
  return ruleFrom(form, Object.fromEntries(given))
}

const ROOM = 1_000_000_000

async function measureRule(
  form: RuleForm,
  store: Store,
  keys: number,
  options: Parameters<typeof measure>[1],
): Promise<Measured> {
  const limiter = createLimiter({
    name: `bench ${form.name}`,
    rule: roomy(form),
    store,
    onStoreFailure: 'throw',
    instances: 1,
  })
  try {
    return await measure((index) => limiter.consume(`user:${index % keys}`), options)
  } finally {
    await limiter.close()
  }
}

function formatLines(lines: readonly BenchLine[]): string {
  const rows = lines.map(({ rule, store, inFlight, perSecond, p50Ms, p99Ms }) => [
    rule,
    store,
    `${inFlight}`,
    perSecond.toLocaleString('en'),
    p50Ms.toFixed(3),
    p99Ms.toFixed(3),
  ])
  return table([['rule', 'store', 'in flight', 'decisions/s', 'p50 ms', 'p99 ms'], ...rows], [2, 3, 4, 5])
}

function formsNamed(names: readonly string[] | undefined): readonly RuleForm[] {
  // One rule by two names is measured once.
  const all: readonly RuleForm[] = Object.values(exportedForms)
    .filter((form) => roomy(form).kind === form.name)
    .sort((one, other) => (one.name < other.name ? -1 : 1))
  if (names === undefined) return all
  return names.map((wanted) => {
    const form = all.find(({ name }) => name === wanted)
    if (form !== undefined) return form
    throw new CommandFailure(
      `--rule must be one of ${all.map(({ name }) => name).join(', ')}, got ${wanted}`,
      EXIT.wrong,
    )
  })
}

function within(what: string, text: string, least: number, most: number): number {
  const number = Number(text)
  if (number >= least && number <= most) return number
  throw new CommandFailure(`${what} must be a number from ${least} to ${most}, got ${text}`, EXIT.wrong)
}

const EXAMPLES = `
Examples:
  sluice bench
  sluice bench --redis redis://127.0.0.1:6379 --seconds 5
  sluice bench --rule sliding-window token-bucket --json

Each decision takes 1 from one of the keys, in turn, and passes. On Redis, one at a time is the round trip; 512 in flight is what a
busy process does. Keys have a random prefix, and are removed at the end.
`
