import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../test/effort.ts'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { encodeOnce, encodeScope, encodeSubject, type Subject } from './key.ts'

describe('encodeSubject', () => {
  it.each<[Subject, string]>([
    ['user:42', 'user:42'],
    [{ kind: 'ip', name: '203.0.113.7' }, 'ip~203.0.113.7'],
    ['ip~203.0.113.7', 'ip%7E203.0.113.7'],
    ['{a}', '%7Ba%7D'],
    ['50% off!', '50%25%20off!'],
    ['#tag', '%23tag'],
    ['\0\n\x7f', '%00%0A%7F'],
    ['grüße 😀', 'grüße%20😀'],
    ['\ud83d', '%uD83D'],
    ['\ude00\ud83d', '%uDE00%uD83D'],
    ['__proto__', '__proto__'],
    ['x'.repeat(200), 'x'.repeat(200)],
  ])('writes %j as %j', (subject, key) => {
    expect(encodeSubject(subject)).toBe(key)
  })

  it('encodes a subject once, which then stays as it is', () => {
    const subject = { kind: 'ip', name: '203.0.113.7' }
    expect(encodeOnce(subject)).toBe(subject)
    expect(() => Object.assign(subject, { name: '203.0.113.8' })).toThrow(TypeError)
    expect(encodeSubject(subject)).toBe('ip~203.0.113.7')
  })

  it('never gives two subjects the same key, and braces never reach the key', () => {
    const text = fc.oneof(
      fc.string({
        unit: fc.constantFrom('a', 'A', ':', '~', '%', '{', '}', '#', '7', 'E', 'B', 'D', 'u', '\ud800', '\udc00', ' '),
      }),
      fc.string({ unit: 'binary' }),
    )
    const name = text.filter(({ length }) => length > 0)
    const subject = fc.oneof(name, fc.record({ kind: name.filter(({ length }) => length <= 40), name }))
    fc.assert(
      fc.property(subject, subject, (one, other) => {
        expect(encodeSubject(one)).not.toMatch(/[{}]/)
        expect(Buffer.from(encodeSubject(one)).toString()).toBe(encodeSubject(one))
        if (JSON.stringify(one) === JSON.stringify(other)) expect(encodeSubject(one)).toBe(encodeSubject(other))
        else expect(encodeSubject(one)).not.toBe(encodeSubject(other))
      }),
      { numRuns: runs('formula') },
    )
  })

  it('hashes a key of 10 MB, and tells two of them apart by the last half of a surrogate pair', () => {
    const long = 'k'.repeat(10_000_000)
    expect(encodeSubject(`${long}\ud800`)).toMatch(/^#[\w-]{43}$/)
    expect(encodeSubject(`${long}\ud800`)).not.toBe(encodeSubject(`${long}\ud801`))
    expect(encodeSubject({ kind: 'key', name: long })).toMatch(/^key~#[\w-]{43}$/)
  })

  it.each<[unknown, string]>([
    [undefined, 'key must be a non-empty string or { kind, name }, got undefined'],
    [null, 'key must be a non-empty string or { kind, name }, got null'],
    [42, 'key must be a non-empty string or { kind, name }, got 42'],
    [7n, 'key must be a non-empty string or { kind, name }, got 7n'],
    [Symbol('s'), 'key must be a non-empty string or { kind, name }, got Symbol(s)'],
    [() => 'key', 'key must be a non-empty string or { kind, name }, got a function'],
    ['', 'key must be a non-empty string or { kind, name }, got ""'],
    [[], 'key must be a non-empty string or { kind, name }, got an array'],
    [{}, 'key must be a non-empty string or { kind, name }, got an object'],
    [{ id: 42 }, 'key must be a non-empty string or { kind, name }, got an object'],
    [{ kind: '', name: 'a' }, 'kind of a key must be a string of 1 to 40 characters, got ""'],
    [
      { kind: 'k'.repeat(41), name: 'a' },
      `kind of a key must be a string of 1 to 40 characters, got "${'k'.repeat(41)}"`,
    ],
    [{ kind: 'ip' }, 'name of a key must be a non-empty string, got undefined'],
    [{ kind: 'ip', name: '' }, 'name of a key must be a non-empty string, got ""'],
    [{ kind: 'ip', name: ['a'] }, 'name of a key must be a non-empty string, got an array'],
  ])('refuses %s', (subject, message) => {
    expect(() => encodeSubject(subject as Subject)).toThrow(expect.objectContaining({ code: 'INVALID_KEY', message }))
  })
})

describe('encodeScope', () => {
  const rule = fixedWindow({ limit: 1, window: 1 })

  it('keeps limiters apart whose names contain the separator', () => {
    expect(encodeScope({ limiter: 'api', rule })).toBe('api:fixed-window@1')
    expect(encodeScope({ limiter: 'api:v1', rule })).toBe('api%3Av1:fixed-window@1')
    expect(encodeScope({ limiter: 'api%3Av1', rule })).toBe('api%253Av1:fixed-window@1')
  })

  it('keeps tiers apart, from each other and from limiters, and states that say by which rule they were counted', () => {
    expect(encodeScope({ limiter: 'api', tier: 'user', rule })).toBe('api~user:fixed-window@1')
    expect(encodeScope({ limiter: 'api~user', rule })).toBe('api%7Euser:fixed-window@1')
    expect(encodeScope({ limiter: 'api', tier: 'a~b:c', rule })).toBe('api~a%7Eb%3Ac:fixed-window@1')
    expect(encodeScope({ limiter: 'api', rule, rulesVary: true })).toBe('api:fixed-window@1+rule')
  })
})
