import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

// Pages are for people who read English as a second language, and use the names that the code has today.

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

// The page about the Lua scripts is for other programs: its names are those of the scripts.
const pages = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...['.changeset', 'docs', 'src', 'examples'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .map((path) => `${folder}/${path}`)
      .filter((path) => path.endsWith('.md') && !path.startsWith('docs/api/') && path !== 'docs/lua.md'),
  ),
]

// Apache has a user of this name.
const HARD_TO_READ =
  /\b((?<!User )nobody|somebody|whoever|everybody|(is|are|was) told|by itself|by themselves|so many|so long)\b/gi
const OLD_NAMES =
  /\b(giveBack|givenBack|blockForMs|deadlineMs|denialCacheMs|holdMs|idMs|leaseMs|maxWaiting|maxWaitMs|periodMs|policyCacheMs|policyFailed|sharedTag|withoutKey|countOnly|decisionOf|requestOf|limitsOf|refusalOf|headerLines|putLines)\b/g

it('there are pages', () => {
  expect(pages.length).toBeGreaterThan(60)
})

it.each(pages)('%s has plain words and the names of today', (page) => {
  const text = read(page)
  expect([...(text.match(HARD_TO_READ) ?? []), ...(text.match(OLD_NAMES) ?? [])]).toEqual([])
})

it('the page about the Lua scripts has plain words, and the names of today but for those of the scripts', () => {
  const text = read('docs/lua.md')
  const names = (text.match(OLD_NAMES) ?? []).filter((name) => !/^(lease|maxWait|period)Ms$/.test(name))
  expect([...(text.match(HARD_TO_READ) ?? []), ...names]).toEqual([])
})

// The scripts are in the manifest with their comments, and benchmarks have words of their own.
const code = ['src', 'page', 'test', 'examples', 'faults', 'scripts'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((path) => `${folder}/${path}`)
    .filter((path) => /\.(ts|tsx|mjs|cjs|yaml)$/.test(path) && !path.includes('node_modules')),
)

it('comments, titles and messages have plain words', () => {
  expect(code.length).toBeGreaterThan(600)
  const found = code
    .filter((path) => path !== 'test/docs-words.test.ts')
    .flatMap((path) => (read(path).match(HARD_TO_READ) ?? []).map((words) => `${path}: ${words}`))
  expect(found).toEqual([])
})

it('the README has at most 150 lines', () => {
  expect(read('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(150)
})
