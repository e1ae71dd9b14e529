import { wholeNumber } from '../core/check.ts'
import { inspectRedis } from './inspect/inspect-redis.ts'
import { inspectService } from './inspect/inspect-service.ts'
import { inspectionJson, inspectionText } from './inspect/inspect-text.ts'
import type { Inspection } from './inspect/inspection.ts'
import { addKeyOptions, type KeyOptions, keyedPolicies, serviceOf } from './key-options.ts'
import { paintFor } from './paint.ts'
import { printable, printableJson } from './printable.ts'
import type { AddCommand } from './program.ts'
import { withRedis } from './redis-option.ts'

/** `sluice inspect`: what is known of a key, and what a request would get. */
export const addInspect: AddCommand = (program, terminal) => {
  const command = program
    .command('inspect')
    .description('what is counted for a key, whether a request would pass now, and if not, why and when; takes nothing')
  addKeyOptions(command)
    .option('--cost <n>', 'how much the request would take', '1')
    .addHelpText('after', EXAMPLES)
    .action(async (text: string, options: KeyOptions & { cost: string }) => {
      const cost = wholeNumber('--cost', Number(options.cost), 1, undefined, 'INVALID_ARGUMENT')
      const service = await serviceOf(options, terminal)
      const found =
        service === undefined
          ? await onRedis(text, options, cost)
          : [await inspectService(service, options.policy as string, text, cost)]
      if (options.json) terminal.out(printableJson({ inspections: found.map(inspectionJson) }, 2))
      else terminal.out(textOf(text, found))
    })

  async function onRedis(text: string, options: KeyOptions, cost: number): Promise<readonly Inspection[]> {
    const meant = await keyedPolicies(text, options)
    return withRedis(options.redis, terminal, async (redis) => {
      const { prefix } = options
      const all = await Promise.all(meant.map(([policy, key]) => inspectRedis({ redis, prefix, policy, key, cost })))
      // Who asks for no policy asks for what there is.
      return options.policy === undefined ? all.filter(isCounted) : all
    })
  }

  function textOf(text: string, found: readonly Inspection[]): string {
    if (found.length === 0) return `no policy has counted anything for ${printable(text)}\n`
    return found.map((inspection) => inspectionText(inspection, paintFor(terminal))).join('\n')
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
