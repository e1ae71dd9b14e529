import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

// The name of a test file chooses its project: `x.test.ts`, `x.redis.test.ts` or `x.system.test.ts`.

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const tests = ['src', 'test', 'page']
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)),
  )
  .filter((path) => path.endsWith('.test.ts') && !path.includes('node_modules'))
const unit = tests.filter((path) => !/\.(redis|system)\.test\.ts$/.test(path))

it('a unit test starts no process and no server, and reads nothing that was built', () => {
  expect(unit.length).toBeGreaterThan(100)
  const wrong = unit.filter((path) => [...importsOf(path)].some(isForeign))
  expect(wrong).toEqual([])
})

it('a test of the project redis uses Redis', () => {
  const redis = tests.filter((path) => path.endsWith('.redis.test.ts'))
  const idle = redis.filter(
    (path) => ![...importsOf(path)].some((file) => file.startsWith('test/servers/start-') || file === 'test/shared.ts'),
  )
  expect(idle).toEqual([])
})

/** What a test imports, directly or through files of the tests; types need nothing to run. */
function importsOf(path: string, seen: Set<string> = new Set()): Set<string> {
  const imports = readFileSync(join(root, path), 'utf8').matchAll(/^import (?!type )(?:[^']* from )?'([^']+)'/gm)
  for (const [, name = ''] of imports) {
    const file = name.startsWith('.') ? join(dirname(path), name) : name
    if (seen.has(file)) continue
    seen.add(file)
    if (/^(test|faults)\/.*\.ts$/.test(file) && existsSync(join(root, file))) importsOf(file, seen)
  }
  return seen
}

function isForeign(file: string): boolean {
  return file === 'node:child_process' || file === 'test/shared.ts' || /^(test\/servers\/start-|dist\/)/.test(file)
}
