import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import packageJson from '../package.json' with { type: 'json' }
import { memoryStore } from '../src/stores/memory/memory-store.ts'
import { storeContract } from '../src/testing/store-contract.ts'

// The page says what ran in which version, and how many checks of the store contract: both must not stay behind.

const page = readFileSync(new URL('../docs/runtimes.md', import.meta.url), 'utf8')

it.each(['bun', 'deno', 'workerd', 'miniflare', 'ioredis', 'redis'] as const)('names the version of %s', (name) => {
  const named = new RegExp(`\\b${name} \\d[\\d.]*\\d`, 'gi')
  const said = new Set(page.match(named)?.map((words) => words.toLowerCase()))
  expect(said).toEqual(new Set([`${name} ${packageJson.devDependencies[name]}`]))
})

it('counts the checks of the store contract', () => {
  const { length } = storeContract({ createStore: memoryStore })
  expect(new Set(page.match(/\d+ of \d+/g))).toEqual(new Set([`${length} of ${length}`]))
  expect(page).toContain(`The store contract has ${length} checks`)
})
