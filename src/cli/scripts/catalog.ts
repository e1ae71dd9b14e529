import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { didYouMean } from '../../core/nearest-name.ts'
import { getScript, listScripts, type Script } from '../../stores/redis/script-catalog.ts'
import { UsageError } from '../terminal/command-failure.ts'

/** `sliding-window@1`. */
export function formatLabel({ name, version }: Script): string {
  return `${name}@${version}`
}

/** What a script is for, in the words of its first line. */
export function readPurpose({ source }: Script): string {
  return source.slice(0, source.indexOf('\n')).replace(/^-- sluice \S+, version \d+: /, '')
}

/** The script that `name` or `name@version` names. */
export function findScript(label: string): Script {
  const [, name = label, version] = /^(.*)@(\d{1,9})$/.exec(label) ?? []
  const known = listScripts()
  if (!known.some((script) => script.name === name)) {
    const names = [...new Set(known.map((script) => script.name))]
    const hint = didYouMean(name, names) || `: there are ${names.join(', ')}`
    throw new UsageError(`unknown script ${JSON.stringify(name)}${hint}`)
  }
  return getScript(name, version === undefined ? undefined : Number(version))
}

/** The scripts of these names, or the newest version of each when there are none: what a store of this version runs. */
export function findScripts(labels: readonly string[]): readonly Script[] {
  if (labels.length > 0) return labels.map(findScript)
  return [...new Set(listScripts().map(({ name }) => getScript(name)))]
}

/** The text of a script as a person reads it: the file of the package. */
export function readForPeople(script: Script): string {
  const label = script === getScript(script.name) ? script.name : formatLabel(script)
  return readFileSync(createRequire(import.meta.url).resolve(`sluice/lua/${label}.lua`), 'utf8')
}
