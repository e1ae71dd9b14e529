import { callFailure } from '../../stores/redis/call-failure.ts'
import type { Script } from '../../stores/redis/script-catalog.ts'
import type { RegisterCommand } from '../command/command.ts'
import { findPrimaries, type Primary } from '../redis/primaries.ts'
import { REDIS_OPTION, withRedis } from '../redis/redis-option.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { findScripts, formatLabel } from './catalog.ts'

/** `sluice scripts load`. */
export const registerLoad: RegisterCommand = (scripts, terminal) => {
  scripts
    .command('load')
    .description('load the scripts on every primary')
    .argument('[name[@version]...]', 'the scripts (default: the newest version of all)')
    .option(...REDIS_OPTION)
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExamples:\n  sluice scripts load --redis redis-cluster://10.0.0.1:7000,10.0.0.2:7000')
    .action(async (labels: string[], { redis: url, json }: { redis?: string; json?: true }) => {
      const wanted = findScripts(labels)
      await withRedis(url, terminal, async (redis) => {
        const primaries = findPrimaries(redis)
        for (const primary of primaries) await loadOn(primary, wanted)
        const loaded = wanted.map((script) => ({ script: formatLabel(script), sha1: script.sha1 }))
        const places = primaries.map(({ place }) => place)
        if (json) terminal.out(`${JSON.stringify({ nodes: places, loaded }, null, 2)}\n`)
        else for (const place of places) terminal.out(`${place}: ${loaded.map(({ script }) => script).join(', ')}\n`)
      })
    })
}

async function loadOn({ place, client }: Primary, scripts: readonly Script[]): Promise<void> {
  for (const script of scripts) {
    const sha1 = await client.script('LOAD', script.source).catch((cause: unknown) => {
      throw callFailure(`${place} did not load ${formatLabel(script)}`, cause)
    })
    // The same text has the same SHA-1 everywhere: something between here and there has changed it.
    if (sha1 === script.sha1) continue
    throw new CommandFailure(`${place} calls ${formatLabel(script)} ${sha1}, and its text has ${script.sha1}`)
  }
}
