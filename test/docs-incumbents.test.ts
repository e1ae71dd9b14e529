import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

// The page says what becomes of every option: it must not stay behind the library.

const page = readFileSync(new URL('../docs/from-express-rate-limit.md', import.meta.url), 'utf8')
const types = readFileSync(fileURLToPath(import.meta.resolve('express-rate-limit')).replace(/\.mjs$/, '.d.ts'), 'utf8')

const [, table = ''] = page.split('\n## Replace the middleware\n')
const named = table.split('\n').flatMap((row) => row.split('|')[1]?.match(/\w+/g) ?? [])

it.each(['Options', 'RateLimitInfo'])(
  'docs/from-express-rate-limit.md says what takes the place of all in its %s',
  (type) => {
    const [, fields = ''] = new RegExp(`\\nexport type ${type} = \\{\\n([\\s\\S]*?)\\n\\};`).exec(types) ?? []
    const names = Array.from(fields.matchAll(/^\t(\w+)\??: /gm), ([, name]) => name)
    expect(names).toContain('limit')
    expect(names.filter((name) => !named.includes(name as string))).toEqual([])
  },
)
