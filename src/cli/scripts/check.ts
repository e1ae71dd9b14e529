import { CommandFailure } from '../command-failure.ts'
import { type Paint, paintFor } from '../paint.ts'
import { primariesOf } from '../primaries.ts'
import { printable, printableJson } from '../printable.ts'
import type { AddCommand } from '../program.ts'
import { REDIS_OPTION, withRedis } from '../redis-option.ts'
import { labelOf, scriptsNamed } from './catalog.ts'
import { checkNode, type NodeReport } from './check-node.ts'

/** `sluice scripts check`. */
export const checkCommand: AddCommand = (scripts, terminal) => {
  scripts
    .command('check')
    .description('which scripts are loaded where, and whether the servers suit; ends with 1 when something is missing')
    .argument('[name[@version]...]', 'some of them; all in their newest version unless named')
    .option(...REDIS_OPTION)
    .option('--json', 'as JSON')
    .action(async (labels: string[], { redis: url, json }: { redis?: string; json?: true }) => {
      const wanted = scriptsNamed(labels)
      await withRedis(url, terminal, async (redis) => {
        const nodes = await Promise.all(primariesOf(redis).map((primary) => checkNode(primary, wanted)))
        const paint = paintFor(terminal)
        const text = nodes.map((node) => textOf(node, wanted.length, paint)).join('')
        terminal.out(json ? printableJson({ wanted: wanted.map(labelOf), nodes }, 2) : text)
        const bad = nodes.filter(({ missing, problems }) => missing.length > 0 || problems.length > 0)
        if (bad.length > 0) throw new CommandFailure(`${bad.length} of ${nodes.length} servers are not ready`)
      })
    })
}

function textOf({ place, engine, missing, problems, warnings }: NodeReport, wanted: number, paint: Paint): string {
  const loaded = `${wanted - missing.length} of ${wanted} scripts are loaded`
  const lines = [
    `${paint.bold(printable(place))}: ${printable(engine)}`,
    missing.length === 0
      ? `  ${paint.green('ok')}       ${loaded}`
      : `  ${paint.red('missing')}  ${missing.join(', ')}`,
    ...problems.map((problem) => `  ${paint.red('problem')}  ${printable(problem)}`),
    ...warnings.map((warning) => `  ${paint.yellow('warning')}  ${printable(warning)}`),
  ]
  return `${lines.join('\n')}\n`
}
