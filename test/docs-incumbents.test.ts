import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

// The page says what becomes of every option: it must not stay behind the library.

const page = readFileSync(new URL('../docs/from-express-rate-limit.md', import.meta.url), 'utf8')
const types = readFileSync(fileURLToPath(import.meta.resolve('express-rate-limit')).replace(/\.mjs$/, '.d.ts'), 'utf8')

it('docs/from-express-rate-limit.md names every option of express-rate-limit, with what takes its place', () => {
  const [, options = ''] = /\nexport type Options = \{\n([\s\S]*?)\n\};/.exec(types) ?? []
  const names = Array.from(options.matchAll(/^\t(\w+)\??: /gm), ([, name]) => name)
  expect(names).toContain('windowMs')
  const [, table = ''] = page.split('\n## Replace the middleware\n')
  const named = table.split('\n').flatMap((row) => row.split('|')[1]?.match(/\w+/g) ?? [])
  expect(names.filter((name) => !named.includes(name as string))).toEqual([])
})
