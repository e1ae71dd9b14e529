import { callFailure } from '../../stores/redis/call-failure.ts'
import type { Script } from '../../stores/redis/script-catalog.ts'
import type { Primary } from '../redis/primaries.ts'
import { formatLabel } from './catalog.ts'
import { findDeniedCommands } from './denied-commands.ts'
import { formatEngine, listEvictionWarnings, listServerProblems, readInfo } from './server-info.ts'

/** What was found about one server. */
export interface NodeReport {
  readonly place: string
  /** `Redis 7.0.15, primary`. */
  readonly engine: string
  /** Scripts that are not loaded. */
  readonly missing: readonly string[]
  /** What keeps limits from being counted there. */
  readonly problems: readonly string[]
  /** What may lose counts, or could not be looked at. */
  readonly warnings: readonly string[]
}

/** Looks at one server: its scripts, its version and role, what it does when its memory is full, and what the user may do. */
export async function checkNode({ place, client }: Primary, scripts: readonly Script[]): Promise<NodeReport> {
  // A user who may not ask can still decide.
  const info = await client.info().then(readInfo, () => undefined)
  const known = await client.script('EXISTS', ...scripts.map(({ sha1 }) => sha1)).catch((cause: unknown) => {
    throw callFailure(`${place} did not say which scripts it has`, cause)
  })
  const missing = scripts.filter((_, index) => (known as number[])[index] !== 1).map(formatLabel)
  const { isSeen, denied } = await findDeniedCommands(client)
  const problems = denied.map(
    (command) => `the user may not send ${command}. Grant it (npx sluice explain STORE_DENIED)`,
  )
  const warnings = isSeen ? [] : ['the rights of the user are unknown: ACL DRYRUN needs Redis 7 and an admin']
  if (info === undefined) {
    return { place, engine: 'unknown', missing, problems, warnings: ['the user may not send INFO', ...warnings] }
  }
  return {
    place,
    engine: formatEngine(info),
    missing,
    problems: [...listServerProblems(info), ...problems],
    warnings: [...listEvictionWarnings(info), ...warnings],
  }
}
