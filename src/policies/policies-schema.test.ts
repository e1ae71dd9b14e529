import { Ajv } from 'ajv'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { INVALID_FILES } from './invalid-files.examples.ts'
import { composePoliciesSchema } from './policies-schema.ts'
import { VALID_FILES } from './valid-files.examples.ts'

const validate = new Ajv({ allErrors: true, strict: true, strictRequired: false, allowUnionTypes: true }).compile(
  composePoliciesSchema(),
)

/** Mistakes of the text itself, which a parser finds. */
const NOT_PARSED = [
  'no YAML',
  'two documents',
  'a tag',
  'a name twice',
  'names that are no texts',
  'an alias of nothing',
  'a value that contains itself',
  'what cannot be merged',
]

/** Mistakes that no schema can express. */
const NOT_SEEN = ['a window of nothing', 'numbers that are too large together', 'options that do not go together']

describe('the schema', () => {
  it.each(VALID_FILES)('takes %s', (_title, text) => {
    validate(parse(text, { merge: true }))
    expect(validate.errors ?? []).toEqual([])
  })

  it.each(INVALID_FILES.filter(([title]) => !NOT_PARSED.includes(title)))('refuses %s', (title, text) => {
    expect(validate(parse(text, { merge: true }))).toBe(NOT_SEEN.includes(title))
  })

  it.each([
    ['a misspelt option', { rule: 'fixed-window', limit: 1, window: '1m', limt: 1 }],
    ['an option of another rule', { rule: 'fixed-window', limit: 1, window: '1m', capacity: 1 }],
    ['a missing limit', { rule: 'fixed-window', window: '1m' }],
    ['a missing window', { rule: 'fixed-window', limit: 1 }],
    ['a window in milliseconds', { rule: 'fixed-window', limit: 1, window: 60_000 }],
    ['a block in milliseconds', { rule: 'fixed-window', limit: 1, window: '1m', blockFor: 1 }],
    ['a denial cache that is on', { rule: 'fixed-window', limit: 1, window: '1m', denialCache: true }],
    ['an option of tiers', { rule: 'fixed-window', limit: 1, window: '1m', hashTag: true }],
    ['a rule and tiers', { rule: 'fixed-window', tiers: { a: { rule: 'fixed-window', limit: 1, window: '1m' } } }],
    ['an option of a policy in a tier', { tiers: { a: { rule: 'gcra', limit: 1, period: '1m', timeout: '1s' } } }],
    ['a tier that is called kind', { tiers: { kind: { rule: 'gcra', limit: 1, period: '1m' } } }],
  ])('refuses a policy with %s', (_title, policy) => {
    expect(validate({ policies: { api: policy } })).toBe(false)
  })
})
