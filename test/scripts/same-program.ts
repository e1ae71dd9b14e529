import { type Node, parse } from 'luaparse'

/**
 * The tree of a program with each local as the number of its name, in the order in which names come: the same for two programs that differ only in
 * comments, spaces and what locals are called.
 */
export function treeOf(code: string): unknown {
  const numbers = new Map<string, number>()
  return parse(code, {
    luaVersion: '5.1',
    scope: true,
    onCreateNode: () => undefined,
  }).body.map((node) => withoutNames(node, numbers))
}

function withoutNames(value: unknown, numbers: Map<string, number>): unknown {
  if (Array.isArray(value)) return value.map((one) => withoutNames(one, numbers))
  if (typeof value !== 'object' || value === null) return value
  const { type, name, isLocal } = value as Node
  if (type === 'Identifier' && isLocal && name !== undefined) {
    if (!numbers.has(name)) numbers.set(name, numbers.size)
    return { type, local: numbers.get(name) }
  }
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withoutNames(one, numbers)]))
}
