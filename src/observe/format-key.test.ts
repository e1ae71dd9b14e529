import { expect, it } from 'vitest'
import { formatKey } from './format-key.ts'

it.each([
  ['user:42', 'user:42'],
  [{ kind: 'ip', name: '203.0.113.7' }, 'ip~203.0.113.7'],
  [{ ip: { kind: 'ip', name: '::1' }, org: undefined, user: '42' }, 'user=42, ip=ip~::1'],
  ['a\nb, c=d', 'a%0Ab,%20c=d'],
  ['\u001b[31m', '%1B[31m'],
  ['x'.repeat(201), expect.stringMatching(/^#[\w-]{43}$/)],
])('writes %j for people', (key, text) => {
  expect(formatKey(key, ['user', 'org', 'ip'])).toEqual(text)
})
