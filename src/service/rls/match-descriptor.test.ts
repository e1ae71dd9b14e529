import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../../test/effort.ts'
import { composeSubject, matchDescriptor } from './match-descriptor.ts'
import { readRlsConfig } from './read-rls-config.ts'

const limit = 'rate_limit: { unit: day, requests_per_unit: 5 }'
const { root } = readRlsConfig(
  `domain: d
descriptors:
  - { key: address, ${limit} }
  - { key: address, value: 192.0.2.5, ${limit} }
  - { key: address, value: 192.0.2.9 }
  - { key: path, value: /api/*, ${limit} }
  - { key: path, value: /api/v1*, ${limit} }
  - { key: path, value: /files/*, share_threshold: true, ${limit} }
  - key: kind
    value: mail
    descriptors:
      - { key: to, ${limit} }
      - { key: to, value: ann, ${limit} }
  - key: kind
    ${limit}
`,
  'envoy.yaml',
)

const match = (...entries: readonly (readonly [string, string])[]) => {
  const found = matchDescriptor(
    root,
    entries.map(([key, value]) => ({ key, value })),
  )
  return found && [found.rateLimit.path, found.subject]
}

describe('a descriptor', () => {
  it('has the limit of its key, with a count for each value', () => {
    expect(match(['address', '192.0.2.1'])).toEqual(['address', '192.0.2.1'])
  })

  it('has the limit of its key and value before that of the key', () => {
    expect(match(['address', '192.0.2.5'])).toEqual(['address=192.0.2.5', 'all'])
    expect(match(['kind', 'mail'], ['to', 'ann'])).toEqual(['kind=mail/to=ann', 'all'])
  })

  it('has no limit where the file names its value without one', () => {
    expect(match(['address', '192.0.2.9'])).toBeUndefined()
  })

  it('has the first limit whose value it starts with, with a count of its own or one for all', () => {
    expect(match(['path', '/api/v1/users'])).toEqual(['path=%2Fapi%2F*', '%2Fapi%2Fv1%2Fusers'])
    expect(match(['path', '/files/a.pdf'])).toEqual(['path=%2Ffiles%2F*', 'all'])
    expect(match(['path', '/'])).toBeUndefined()
  })

  it('matches at its own depth only', () => {
    expect(match(['kind', 'mail'], ['to', 'bob'])).toEqual(['kind=mail/to', 'bob'])
    expect(match(['kind', 'mail'])).toBeUndefined()
    expect(match(['kind', 'post'])).toEqual(['kind', 'post'])
    expect(match(['kind', 'post'], ['to', 'bob'])).toBeUndefined()
    expect(match(['address', '192.0.2.1'], ['to', 'bob'])).toBeUndefined()
    expect(match(['colour', 'red'])).toBeUndefined()
    expect(match()).toBeUndefined()
  })
})

it('different open values never share a count', () => {
  const values = fc.array(fc.string({ unit: fc.constantFrom('a', '/', '%', '=', '2', 'F') }), {
    minLength: 1,
    maxLength: 3,
  })
  fc.assert(
    fc.property(values, values, (one, other) => {
      expect(composeSubject(one) === composeSubject(other)).toBe(JSON.stringify(one) === JSON.stringify(other))
    }),
    { numRuns: runs('formula') },
  )
})
