import fc from 'fast-check'
import { expect, it } from 'vitest'
import { formatKey } from '../../src/observe/format-key.ts'
import { parseKeyText, type RequestKey } from './key-text.ts'

it.each<[string, RequestKey]>([
  ['user:42', 'user:42'],
  ['a%7Eb%20c', 'a~b c'],
  ['ip~203.0.113.7', { kind: 'ip', name: '203.0.113.7' }],
  ['user=42, ip=ip~::1', { user: '42', ip: { kind: 'ip', name: '::1' } }],
  ['usr=42', 'usr=42'],
])('reads %s', (text, key) => {
  expect(parseKeyText(text, ['user', 'ip'])).toEqual(key)
})

it('reads back every key that a report can write', () => {
  const subject = fc.oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 30 }),
    fc.record({ kind: fc.string({ minLength: 1, maxLength: 10 }), name: fc.string({ minLength: 1, maxLength: 20 }) }),
  )
  const byTier = fc.record({ user: subject, ip: subject })
  fc.assert(
    fc.property(fc.oneof(subject, byTier), (key) => {
      const tiers = typeof key === 'object' && 'user' in key ? ['user', 'ip'] : []
      expect(parseKeyText(formatKey(key, tiers), tiers)).toEqual(key)
    }),
  )
})

it('reads no key from a hash: the name itself is not known', () => {
  expect(parseKeyText(formatKey('x'.repeat(300), []), [])).toBeUndefined()
  expect(parseKeyText(formatKey({ user: 'x'.repeat(300), ip: '1' }, ['user', 'ip']), ['user', 'ip'])).toBeUndefined()
})
