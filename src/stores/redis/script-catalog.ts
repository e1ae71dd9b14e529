import { scripts } from 'sluice:scripts'
import { show, wholeNumber } from '../../core/check.ts'
import { LimiterError } from '../../core/limiter-error.ts'

/** One version of a rule's script. Its text never changes. */
export interface Script {
  /** The rule's kind, such as `sliding-window`. */
  readonly name: string
  readonly version: number
  /** What a server calls it. */
  readonly sha1: string
  /** The parameters that come first in ARGV, before the time and the requests. */
  readonly required: readonly string[]
  /** The parameters that come last in ARGV, and may be left out. */
  readonly optional: readonly string[]
  /** The text: KEYS, ARGV and the reply are in its first lines. */
  readonly source: string
}

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
