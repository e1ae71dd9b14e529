import { wholeNumber } from '../../core/check.ts'
import type { Policy } from '../../policies/read-policies.ts'
import type { RegisterCommand } from '../command/command.ts'
import { parseKey } from '../command/key-argument.ts'
import { addKeyOptions, type KeyOptions, readKeyedPolicies, resolveService } from '../command/key-options.ts'
import { parseRule } from '../command/rule-text.ts'
import { withRedis } from '../redis/redis-option.ts'
import { chooseColors } from '../terminal/colors.ts'
import { UsageError } from '../terminal/command-failure.ts'
import { printable, printableJson } from '../terminal/printable.ts'
import { inspectRedis } from './inspect-redis.ts'
import { inspectService } from './inspect-service.ts'
import { composeInspectionJson, formatInspection } from './inspect-text.ts'
import type { Inspection } from './inspection.ts'

/** `sluice inspect`: what is known of a key, and what a request would get. */
export const registerInspect: RegisterCommand = (program, terminal) => {
  const command = program
    .command('inspect')
    .description('show the count of a key, and whether a request would pass now; changes nothing')
  addKeyOptions(command)
    .option('--name <name>', 'the name of the limiter, instead of a policies file; needs --rule')
    .option('--rule <text>', "the rule of that limiter, such as 'sliding-window limit=100 window=1m'")
    .option('--cost <n>', 'the cost of the request', '1')
    .addHelpText('after', EXAMPLES)
    .action(async (text: string, options: InspectOptions) => {
      const cost = wholeNumber('--cost', Number(options.cost), 1, undefined, 'INVALID_ARGUMENT')
      const limiter = readLimiter(options)
      const service = limiter === undefined ? await resolveService(options, terminal) : undefined
      const found =
        service === undefined
          ? await onRedis(text, limiter, options, cost)
          : [await inspectService(service, options.policy as string, text, cost)]
      if (options.json) terminal.out(printableJson({ inspections: found.map(composeInspectionJson) }, 2))
      else terminal.out(formatInspections(text, found))
    })

  async function onRedis(
    text: string,
    limiter: Policy | undefined,
    options: InspectOptions,
    cost: number,
  ): Promise<readonly Inspection[]> {
    const meant =
      limiter === undefined
        ? await readKeyedPolicies(text, options, '--name and --rule, or --url of a service')
        : [[limiter, parseKey(text)] as const]
    return withRedis(options.redis, terminal, async (redis) => {
      const { prefix } = options
      const all = await Promise.all(meant.map(([policy, key]) => inspectRedis({ redis, prefix, policy, key, cost })))
      // Without the name of a policy, only those that have counted the key matter.
      return limiter === undefined && options.policy === undefined ? all.filter(isCounted) : all
    })
  }

  function formatInspections(text: string, found: readonly Inspection[]): string {
    if (found.length === 0) return `no policy has a count for ${printable(text)}\n`
    return found.map((inspection) => formatInspection(inspection, chooseColors(terminal))).join('\n')
  }
}

interface InspectOptions extends KeyOptions {
  readonly name?: string
  readonly rule?: string
  readonly cost: string
}

/** The limiter of --name and --rule; `undefined` when neither is given. */
function readLimiter({ name, rule, policies, policy, url }: InspectOptions): Policy | undefined {
  if (name === undefined && rule === undefined) return undefined
  if (name === undefined) throw new UsageError('--name is missing: the name of the limiter, which is part of its keys')
  if (rule === undefined) throw new UsageError("--rule is missing, such as --rule 'sliding-window limit=100 window=1m'")
  if (policies !== undefined || policy !== undefined || url !== undefined) {
    throw new UsageError('--name and --rule replace --policies, --policy and --url. Remove those')
  }
  return { name, options: { name, rule: parseRule(rule) } }
}

function isCounted({ limits }: Inspection): boolean {
  return limits.some(({ stored }) => stored?.type !== 'none')
}

const EXAMPLES = `
Examples:
  sluice inspect user:42 --policies limits.yaml --policy api --redis redis://127.0.0.1:6379
  sluice inspect user=42,ip=203.0.113.7 --policies limits.yaml --policy messages --redis redis://127.0.0.1:6379
  sluice inspect ip~203.0.113.7 --policies limits.yaml --redis redis://127.0.0.1:6379    # all policies that know it
  sluice inspect user:42 --name api --rule 'sliding-window limit=100 window=1m' --redis redis://127.0.0.1:6379
  sluice inspect user:42 --policy api --url http://127.0.0.1:8080 --cost 5
`
