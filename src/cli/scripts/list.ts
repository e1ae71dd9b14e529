import { listScripts } from '../../stores/redis/script-catalog.ts'
import type { RegisterCommand } from '../command/command.ts'
import { formatTable } from '../terminal/table.ts'
import { formatLabel, readPurpose } from './catalog.ts'

/** `sluice scripts list`. */
export const registerList: RegisterCommand = (scripts, terminal) => {
  scripts
    .command('list')
    .description('every version of every script, with its SHA-1')
    .option('--json', 'as JSON')
    .action(({ json }: { json?: true }) => {
      terminal.out(json ? asJson() : asText())
    })
}

function asJson(): string {
  const listed = listScripts().map((script) => {
    const { name, version, sha1, source, required, optional } = script
    return { name, version, sha1, bytes: Buffer.byteLength(source), required, optional, purpose: readPurpose(script) }
  })
  return `${JSON.stringify({ scripts: listed }, null, 2)}\n`
}

function asText(): string {
  const rows = listScripts().map((script) => [
    formatLabel(script),
    script.sha1,
    `${Buffer.byteLength(script.source)}`,
    readPurpose(script),
  ])
  return formatTable([['script', 'sha1', 'bytes', 'what for'], ...rows], [2])
}
