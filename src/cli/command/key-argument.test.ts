import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeSubject, type Subject } from '../../core/key.ts'
import { formatKey } from '../../observe/format-key.ts'
import { parseKey, parseSubject } from './key-argument.ts'

describe('a key on the command line', () => {
  it.each<[string, readonly string[], unknown]>([
    ['user:42', [], 'user:42'],
    ['', [], ''],
    ['ip~203.0.113.7', [], { kind: 'ip', name: '203.0.113.7' }],
    ['ip~::1', [], { kind: 'ip', name: '::1' }],
    ['ip~', [], { kind: 'ip', name: '' }],
    ['a%7Eb', [], 'a~b'],
    ['100%25', [], '100%'],
    ['a b', [], 'a b'],
    ['#general', [], '#general'],
    ['%uD800', [], '\ud800'],
    ['user=42', [], 'user=42'],
    ['{"kind":"ip","name":"x"}', [], { kind: 'ip', name: 'x' }],
    ['user=42', ['user', 'ip'], { user: '42' }],
    ['user=42,ip=203.0.113.7', ['user', 'ip'], { user: '42', ip: '203.0.113.7' }],
    ['user=42, ip=203.0.113.7', ['user', 'ip'], { user: '42', ip: '203.0.113.7' }],
    ['user=a,b,ip=ip~::1', ['user', 'ip'], { user: 'a,b', ip: { kind: 'ip', name: '::1' } }],
    ['user=a%2Cip=b', ['user', 'ip'], { user: 'a,ip=b' }],
    ['user=', ['user'], { user: '' }],
    ['user%3D42', ['user', 'ip'], 'user=42'],
    ['42', ['user', 'ip'], '42'],
    ['other%3D42', ['user', 'ip'], 'other=42'],
    ['ip~a=b', ['user', 'ip'], { kind: 'ip', name: 'a=b' }],
    ['session:a=b', ['user', 'ip'], 'session:a=b'],
    ['user=a,b=c', ['user', 'ip'], { user: 'a,b=c' }],
    ['usr=1', [], 'usr=1'],
    ['{"user":"42"}', ['user', 'ip'], { user: '42' }],
  ])('%s of tiers %j', (text, tiers, key) => {
    expect(parseKey(text, tiers)).toEqual(key)
  })

  it.each<[string, readonly string[], string]>([
    ['50%', [], '% starts an escape such as %25: write %25 for the sign itself, got "50%"'],
    ['%FF', [], '% starts an escape such as %25: write %25 for the sign itself, got "%FF"'],
    ['a~b~c', [], '~ stands between a kind and a name: write %7E for the sign itself, got "a~b~c"'],
    ['~b', [], '~ stands between a kind and a name: write %7E for the sign itself, got "~b"'],
    ['user=1,user=2', ['user'], 'duplicate tier "user" in key, got "user=1,user=2"'],
    [
      'usr=1',
      ['user', 'ip'],
      'unknown tier "usr", did you mean "user"? Write %3D where = is part of a name, got "usr=1"',
    ],
    [
      'other=42',
      ['user', 'ip'],
      'unknown tier "other": there are user, ip. Write %3D where = is part of a name, got "other=42"',
    ],
    [
      'user=1,iip=2',
      ['user', 'ip'],
      'unknown tier "iip", did you mean "ip"? Write %3D where = is part of a name, got "user=1,iip=2"',
    ],
    [
      'User=1, ip=2',
      ['user', 'ip'],
      'unknown tier "User", did you mean "user"? Write %3D where = is part of a name, got "User=1, ip=2"',
    ],
    ['{user}', [], 'a key that starts with { is JSON'],
    [encodeSubject('x'.repeat(201)), [], 'is the hash of a name of more than 200 characters: give the name itself'],
  ])('%s is refused', (text, tiers, message) => {
    expect(() => parseKey(text, tiers)).toThrow(message)
  })

  it('names a tier of one policy, and is a name to another one without it', () => {
    expect(parseKey('user=42', ['user', 'ip'], ['user', 'ip', 'org'])).toEqual({ user: '42' })
    expect(parseKey('user=42', ['org'], ['user', 'ip', 'org'])).toBe('user=42')
    expect(parseKey('user=42', [], ['user', 'ip', 'org'])).toBe('user=42')
    expect(() => parseKey('usr=42', [], ['user', 'ip', 'org'])).toThrow('unknown tier "usr", did you mean "user"?')
  })

  const name = fc.string({ unit: 'binary', minLength: 1, maxLength: 60 })
  const subject: fc.Arbitrary<Subject> = fc.oneof(
    name,
    fc.record({ kind: fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }), name }),
  )

  it('is what the page shows, for whatever subject', () => {
    fc.assert(
      fc.property(subject, (given) => {
        expect(parseSubject(encodeSubject(given))).toEqual(given)
      }),
    )
  })

  it('is what the page shows for tiers, unless a name looks like a further tier', () => {
    fc.assert(
      fc.property(subject, subject, (user, ip) => {
        const text = formatKey({ user, ip }, ['user', 'ip'])
        fc.pre(!/, ?[\w-]+=/.test(text.replace(', ip=', ' ')))
        expect(parseKey(text, ['user', 'ip'])).toEqual({ user, ip })
      }),
    )
  })
})
