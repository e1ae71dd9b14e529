import { show } from '../../core/check.ts'
import { readPlain } from '../../policies/read-fields.ts'
import type { MappingNode, ReportProblem } from '../../policies/source-node.ts'

/** Reads a text of a map; empty when there is none. Numbers and such are texts too. */
export function readText(map: MappingNode, name: string, reportProblem: ReportProblem): string {
  const node = map.entries.get(name)?.value
  if (node === undefined) return ''
  const plain = readPlain(node)
  if (typeof plain === 'string') return plain
  if (plain === null) return ''
  if (typeof plain !== 'object' && node.kind === 'other') return `${node.source}`
  reportProblem(node.at, `${name} must be a text, got ${show(plain)}`)
  return ''
}

/** Reads a switch of a map; false when there is none. */
export function readFlag(map: MappingNode, name: string, reportProblem: ReportProblem): boolean {
  const node = map.entries.get(name)?.value
  if (node === undefined) return false
  const plain = readPlain(node)
  if (typeof plain === 'boolean') return plain
  reportProblem(node.at, `${name} must be true or false, got ${show(plain)}`)
  return false
}
