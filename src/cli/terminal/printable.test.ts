import fc from 'fast-check'
import { expect, it } from 'vitest'
import { printable, printableJson, printableLines } from './printable.ts'

it.each([
  ['user:42', 'user:42'],
  ['Jürgen 日本 👍', 'Jürgen 日本 👍'],
  ['a\u001b[2Jb', 'a\\u001b[2Jb'],
  ['a\nb\r\t', 'a\\nb\\r\\t'],
  ['\u0000\u007f\u009b', '\\u0000\\u007f\\u009b'],
  ['\u202eabc\u2066', '\\u202eabc\\u2066'],
  ['\u2028\u2029\u00ad\ufeff', '\\u2028\\u2029\\u00ad\\ufeff'],
  ['\ud800', '\\ud800'],
  ['\u{e0041}', '\\udb40\\udc41'],
])('%j is printed as %s', (text, shown) => {
  expect(printable(text)).toBe(shown)
})

it('keeps the lines of a text that has some', () => {
  expect(printableLines('a\u001b\nb\r\n')).toBe('a\\u001b\nb\\r\n')
})

it('JSON means the same and has nothing hidden, whatever it says', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.constantFrom(undefined, 2), (text, indent) => {
      const json = printableJson({ [`${text} `]: text }, indent)
      expect(json.replaceAll('\n', '')).toBe(printable(json.replaceAll('\n', '')))
      expect(JSON.parse(json)).toEqual({ [`${text} `]: text })
    }),
  )
})
