import { listScripts } from '../../stores/redis/script-catalog.ts'
import type { RegisterCommand } from '../command/command.ts'
import { UsageError } from '../terminal/command-failure.ts'
import { formatTable } from '../terminal/table.ts'
import { findScript, formatLabel, readForPeople, readPurpose } from './catalog.ts'
import { registerCheck } from './check.ts'
import { registerLoad } from './load.ts'

/** `sluice scripts`: the Lua scripts, for people and for other languages. */
export const registerScripts: RegisterCommand = (program, terminal) => {
  const scripts = program
    .command('scripts')
    .description('list, print, load and check the Lua scripts')
    .addHelpText('after', EXAMPLES)
  scripts
    .command('list')
    .description('list every version of every script, with its SHA-1')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExamples:\n  sluice scripts list --json')
    .action(({ json }: { json?: true }) => terminal.out(json ? composeListJson() : formatList()))
  scripts
    .command('print')
    .description('print a script as people read it; servers run the same text, shortened')
    .argument('[name[@version]]', 'a script such as sliding-window or sliding-window@1')
    .option('--full', 'print the full script, the same as the name sluice')
    .addHelpText('after', '\nExamples:\n  sluice scripts print token-bucket > token-bucket.lua')
    .action((label: string | undefined, { full }: { full?: boolean }) => {
      if (label === undefined && full !== true) throw new UsageError('name a script, such as sliding-window, or --full')
      terminal.out(readForPeople(findScript(full === true ? 'sluice' : (label as string))))
    })
  registerLoad(scripts, terminal)
  registerCheck(scripts, terminal)
}

function composeListJson(): string {
  const listed = listScripts().map((script) => {
    const { name, version, sha1, source, parameters } = script
    return { name, version, sha1, bytes: Buffer.byteLength(source), parameters, purpose: readPurpose(script) }
  })
  return `${JSON.stringify({ scripts: listed }, null, 2)}\n`
}

function formatList(): string {
  const rows = listScripts().map((script) => {
    return [formatLabel(script), script.sha1, `${Buffer.byteLength(script.source)}`, readPurpose(script)]
  })
  return formatTable([['script', 'sha1', 'bytes', 'what for'], ...rows], [2])
}

const EXAMPLES = `
Examples:
  sluice scripts list
  sluice scripts print token-bucket > token-bucket.lua
  sluice scripts load --redis redis-cluster://10.0.0.1:7000,10.0.0.2:7000
  sluice scripts check --redis redis://127.0.0.1:6379
`
