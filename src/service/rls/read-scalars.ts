import { show } from '../../core/check.ts'
import { readPlain } from '../../policies/read-fields.ts'
import type { MappingEntry, MappingNode, ReportProblem } from '../../policies/source-node.ts'

/** What a map has under a name. A name without a value is as good as none: everything below it may be a comment. */
export function findEntry(map: MappingNode, name: string): MappingEntry | undefined {
  const entry = map.entries.get(name)
  return entry === undefined || readPlain(entry.value) === null ? undefined : entry
}

/** Reads a text of a map; empty when there is none. Numbers and such are texts too. */
export function readText(map: MappingNode, name: string, reportProblem: ReportProblem): string {
  const node = findEntry(map, name)?.value
  if (node === undefined) return ''
  const plain = readPlain(node)
  if (typeof plain === 'string') return plain
  if (typeof plain !== 'object' && node.kind === 'other') return `${node.source}`
  reportProblem(node.at, `${name} must be a text, got ${show(plain)}`)
  return ''
}

/** Reads a switch of a map; false when there is none. */
export function readFlag(map: MappingNode, name: string, reportProblem: ReportProblem): boolean {
  const node = findEntry(map, name)?.value
  if (node === undefined) return false
  const plain = readPlain(node)
  if (typeof plain === 'boolean') return plain
  reportProblem(node.at, `${name} must be true or false, got ${show(plain)}`)
  return false
}
