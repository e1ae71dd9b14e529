import { wholeNumber } from '../../core/check.ts'
import type { RegisterCommand } from '../command/command.ts'
import { addKeyOptions, type KeyOptions, readKeyedPolicies, resolveService } from '../command/key-options.ts'
import { withRedis } from '../redis/redis-option.ts'
import { chooseColors } from '../terminal/colors.ts'
import { printable, printableJson } from '../terminal/printable.ts'
import { inspectRedis } from './inspect-redis.ts'
import { inspectService } from './inspect-service.ts'
import { composeInspectionJson, formatInspection } from './inspect-text.ts'
import type { Inspection } from './inspection.ts'

/** `sluice inspect`: what is known of a key, and what a request would get. */
export const registerInspect: RegisterCommand = (program, terminal) => {
  const command = program
    .command('inspect')
    .description('what is counted for a key, whether a request would pass now, and if not, why and when; takes nothing')
  addKeyOptions(command)
    .option('--cost <n>', 'how much the request would take', '1')
    .addHelpText('after', EXAMPLES)
    .action(async (text: string, options: KeyOptions & { cost: string }) => {
      const cost = wholeNumber('--cost', Number(options.cost), 1, undefined, 'INVALID_ARGUMENT')
      const service = await resolveService(options, terminal)
      const found =
        service === undefined
          ? await onRedis(text, options, cost)
          : [await inspectService(service, options.policy as string, text, cost)]
      if (options.json) terminal.out(printableJson({ inspections: found.map(composeInspectionJson) }, 2))
      else terminal.out(formatInspections(text, found))
    })

  async function onRedis(text: string, options: KeyOptions, cost: number): Promise<readonly Inspection[]> {
    const meant = await readKeyedPolicies(text, options)
    return withRedis(options.redis, terminal, async (redis) => {
      const { prefix } = options
      const all = await Promise.all(meant.map(([policy, key]) => inspectRedis({ redis, prefix, policy, key, cost })))
      // Who asks for no policy asks for what there is.
      return options.policy === undefined ? all.filter(isCounted) : all
    })
  }

  function formatInspections(text: string, found: readonly Inspection[]): string {
    if (found.length === 0) return `no policy has counted anything for ${printable(text)}\n`
    return found.map((inspection) => formatInspection(inspection, chooseColors(terminal))).join('\n')
  }
}

function isCounted({ limits }: Inspection): boolean {
  return limits.some(({ stored }) => stored?.type !== 'none')
}

const EXAMPLES = `
Examples:
  sluice inspect user:42 --policies limits.yaml --policy api --redis redis://127.0.0.1:6379
  sluice inspect user=42,ip=203.0.113.7 --policies limits.yaml --policy messages --redis redis://127.0.0.1:6379
  sluice inspect ip~203.0.113.7 --policies limits.yaml --redis redis://127.0.0.1:6379    # all policies that know it
  sluice inspect user:42 --policy api --url http://127.0.0.1:8080 --cost 5
`
