import { scripts as kept, lines } from 'sluice:scripts'
import { show, wholeNumber } from '../../core/check.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import { joinLines } from './join-lines.ts'

/** One version of a script. Its text never changes. */
export interface Script {
  /** The rule's kind, such as `sliding-window`; or `tiers`, or `sluice`. */
  readonly name: string
  readonly version: number
  /** What a server calls it. */
  readonly sha1: string
  /** The rule's parameters that come first in ARGV. None of `tiers` and `sluice`, which take rules by their names. */
  readonly parameters: readonly string[]
  /** The text that servers run: without comments, and with short names. `sluice/lua/<name>.lua` is the same for people. */
  readonly source: string
}

// Scripts are made of the same blocks, and versions differ in few lines. A text is put together when a server needs it.
const scripts: readonly Script[] = kept.map(({ ranges, ...script }) => {
  let source: string | undefined
  return {
    ...script,
    get source() {
      source ??= joinLines(lines.split('\n'), ranges.split(' ').map(Number))
      return source
    },
  }
})

/** Every version of every script: what `getScript` can answer. */
export function listScripts(): readonly Script[] {
  return scripts
}

/**
 * The script of a rule, by name and version. Versions that were released once stay available.
 *
 * @param version absent for the newest.
 */
export function getScript(name: string, version?: number): Script {
  if (version !== undefined) wholeNumber('version', version, 1, undefined, 'INVALID_ARGUMENT')
  const found = scripts.findLast((script) => script.name === name && (version ?? script.version) === script.version)
  if (found !== undefined) return found
  const wanted = version === undefined ? show(name) : `${show(name)}, version ${version}`
  const known = scripts.map((script) => `${script.name} ${script.version}`).join(', ')
  throw new LimiterError('INVALID_ARGUMENT', `unknown script ${wanted}; scripts are ${known}`)
}

/** The script for everything that a hot one does not decide. */
export const FULL_SCRIPT: Script = getScript('sluice')

/** The hot script over several limits. */
export const TIERS_SCRIPT: Script = getScript('tiers')
