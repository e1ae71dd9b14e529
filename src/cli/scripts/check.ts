import type { RegisterCommand } from '../command/command.ts'
import { findPrimaries } from '../redis/primaries.ts'
import { REDIS_OPTION, withRedis } from '../redis/redis-option.ts'
import { type Colors, chooseColors } from '../terminal/colors.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { printable, printableJson } from '../terminal/printable.ts'
import { findScripts, formatLabel } from './catalog.ts'
import { checkNode, type NodeReport } from './check-node.ts'

/** `sluice scripts check`. */
export const registerCheck: RegisterCommand = (scripts, terminal) => {
  scripts
    .command('check')
    .description(
      'check scripts, version, role, eviction and rights of every primary; the exit code is 1 with a problem',
    )
    .argument('[name[@version]...]', 'the scripts (default: the newest version of all)')
    .option(...REDIS_OPTION)
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExamples:\n  sluice scripts check --redis redis://127.0.0.1:6379')
    .action(async (labels: string[], { redis: url, json }: { redis?: string; json?: true }) => {
      const wanted = findScripts(labels)
      await withRedis(url, terminal, async (redis) => {
        const nodes = await Promise.all(findPrimaries(redis).map((primary) => checkNode(primary, wanted)))
        const colors = chooseColors(terminal)
        const text = nodes.map((node) => formatNode(node, wanted.length, colors)).join('')
        terminal.out(json ? printableJson({ wanted: wanted.map(formatLabel), nodes }, 2) : text)
        const bad = nodes.filter(({ missing, problems }) => missing.length > 0 || problems.length > 0)
        if (bad.length > 0)
          throw new CommandFailure(
            `${bad.length} of ${nodes.length} servers are not ready. sluice scripts load loads missing scripts`,
          )
      })
    })
}

function formatNode(
  { place, engine, missing, problems, warnings }: NodeReport,
  wanted: number,
  colors: Colors,
): string {
  const loaded = `${wanted - missing.length} of ${wanted} scripts are loaded`
  const lines = [
    `${colors.bold(printable(place))}: ${printable(engine)}`,
    missing.length === 0
      ? `  ${colors.green('ok')}       ${loaded}`
      : `  ${colors.red('missing')}  ${missing.join(', ')}`,
    ...problems.map((problem) => `  ${colors.red('problem')}  ${printable(problem)}`),
    ...warnings.map((warning) => `  ${colors.yellow('warning')}  ${printable(warning)}`),
  ]
  return `${lines.join('\n')}\n`
}
