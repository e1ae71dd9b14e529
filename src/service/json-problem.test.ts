import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findJsonProblem } from './json-problem.ts'

describe('finds where a text stops being JSON', () => {
  it.each([
    ['', 'at position 0 (line 1, column 1) it ends there'],
    ['  ', 'at position 2 (line 1, column 3) it ends there'],
    ['{"a":1,}', 'at position 7 (line 1, column 8) "}" does not belong there'],
    ['[1,]', 'at position 3 (line 1, column 4) "]" does not belong there'],
    ['[1 2]', 'at position 3 (line 1, column 4) "2" does not belong there'],
    ['{a:1}', 'at position 1 (line 1, column 2) "a" does not belong there'],
    ["{'a':1}", 'at position 1 (line 1, column 2) "\'" does not belong there'],
    ['{"a" 1}', 'at position 5 (line 1, column 6) "1" does not belong there'],
    ['{"a":1]', 'at position 6 (line 1, column 7) "]" does not belong there'],
    ['[1}', 'at position 2 (line 1, column 3) "}" does not belong there'],
    ['{} {}', 'at position 3 (line 1, column 4) "{" does not belong there'],
    ['01', 'at position 1 (line 1, column 2) "1" does not belong there'],
    ['{"a":\n  nul}', 'at position 8 (line 2, column 3) "n" does not belong there'],
    ['"a\nb"', 'at position 2 (line 1, column 3) "\\n" does not belong there'],
    ['"a\\x"', 'at position 2 (line 1, column 3) "\\\\" does not belong there'],
    ['"\\u00g0"', 'at position 1 (line 1, column 2) "\\\\" does not belong there'],
    ['"open', 'at position 5 (line 1, column 6) it ends there'],
    ['// no', 'at position 0 (line 1, column 1) "/" does not belong there'],
  ])('%j', (text, problem) => {
    expect(() => JSON.parse(text)).toThrow()
    expect(findJsonProblem(text)).toBe(problem)
  })

  it('and walks to the end of everything that is JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1, '\t'), (value, space) => {
        const text = JSON.stringify(value, null, space)
        expect(findJsonProblem(text)).toContain(`at position ${text.length} `)
      }),
    )
  })

  it('also where it is long and deep', () => {
    for (const text of ['"'.padEnd(100_000, 'ü'), `"${'\\"'.repeat(49_999)}`, '{"a":['.repeat(16_000)]) {
      expect(findJsonProblem(text)).toContain(`at position ${text.length} `)
    }
  })

  it.each([
    ['a number', `[${'1,'.repeat(49_998)}1e+5,]`],
    ['an escape', `["${' '.repeat(99_995)}\\u0041",]`],
    ['a word', `[${' '.repeat(99_996)}false,]`],
    ['nothing', '['.repeat(1_000_000)],
  ])('but does not look for long: %s lies where it stops', (_, text) => {
    expect(findJsonProblem(text)).toBe('something after position 99990 does not belong there')
  })

  it('and tells what it has found before', () => {
    expect(findJsonProblem(`[1 2${' '.repeat(200_000)}`)).toBe(
      'at position 3 (line 1, column 4) "2" does not belong there',
    )
  })
})
