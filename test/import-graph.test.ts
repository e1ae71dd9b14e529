import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

// Biome stops cycles of values. Types count here too: a reader of one file of a cycle has to read all of them.

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const rooms = [...listFolders('src'), 'page']
const imports = new Map(['src', 'page'].flatMap(listSources).map((file) => [file, listImports(file)]))

// Not yet: the folder of each rule imports what rules share from rules/, whose lists import each folder.
const MUTUAL_LEFT = ['src/rules']

it.each(rooms)('%s has no cycle of imports, types included', (room) => {
  const files = [...imports.keys()].filter((file) => file.startsWith(`${room}/`))
  expect(files).not.toEqual([])
  const inCycle = files.filter((file) => findReachable(file).has(file))
  expect(inCycle).toEqual([])
})

it.each(rooms)('in %s no folder and its parent import each other', (room) => {
  const pairs = [...imports].flatMap(([file, targets]) => targets.map((to) => `${dirname(file)} → ${dirname(to)}`))
  const known = new Set(pairs)
  const mutual = [...known].filter((pair) => {
    const [from = '', to = ''] = pair.split(' → ')
    const isMutual = dirname(to) === from && known.has(`${to} → ${from}`)
    return from.startsWith(room) && isMutual && !MUTUAL_LEFT.includes(from)
  })
  expect(mutual).toEqual([])
})

function listFolders(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(folder, name))
}

function listSources(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((path) => join(folder, path))
    .filter((path) => /\.tsx?$/.test(path) && !/\.(test|examples)\.tsx?$/.test(path) && !path.includes('node_modules'))
}

function listImports(file: string): string[] {
  const source = readFileSync(join(root, file), 'utf8')
  return [...source.matchAll(/^(?:import|export)\b[^']*? from '(\.[^']+)'/gm)].map(([, path = '']) =>
    join(dirname(file), path),
  )
}

/** The files that a file imports, directly or through others. */
function findReachable(file: string, seen: Set<string> = new Set()): Set<string> {
  for (const next of imports.get(file) ?? []) {
    if (seen.has(next)) continue
    seen.add(next)
    findReachable(next, seen)
  }
  return seen
}
