import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readJson } from './read-json.ts'
import type { RequestError } from './request-error.ts'

describe('refuses a body that is no JSON, with the reason of the parser', () => {
  it.each([
    '',
    '  ',
    '{"a":1,}',
    '[1,]',
    '[1 2]',
    '{a:1}',
    "{'a':1}",
    '{"a" 1}',
    '{"a":1]',
    '[1}',
    '{} {}',
    '01',
    '{"a":\n  nul}',
    '"a\nb"',
    '"a\\x"',
    '"\\u00g0"',
    '"open',
    '// no',
  ])('%j', (text) => {
    expect(problemIn(text)).toEqual({ code: 'INVALID_JSON', message: `the body is not JSON: ${reasonOfParser(text)}` })
  })

  it.each([
    ['a string without an end', '"'.padEnd(100_000, 'ü')],
    ['escapes without an end', `"${'\\"'.repeat(49_999)}`],
    ['a comma too much after a number', `[${'1,'.repeat(49_998)}1e+5,]`],
    ['a comma too much after an escape', `["${' '.repeat(99_995)}\\u0041",]`],
    ['a comma too much after a word', `[${' '.repeat(99_996)}false,]`],
    ['a mistake before many spaces', `[1 2${' '.repeat(200_000)}`],
  ])('also where the body is long: %s', (_, text) => {
    const { code, message } = problemIn(text)
    expect({ code, message }).toEqual({
      code: 'INVALID_JSON',
      message: `the body is not JSON: ${reasonOfParser(text)}`,
    })
    // The parser repeats a part of the body, and never all of it.
    expect(message.length).toBeLessThan(200)
  })

  it.each([
    ['objects and lists', '{"a":['.repeat(16_000), 60],
    ['lists', '['.repeat(1_000_000), 20],
  ])('and one that is too deep before it is parsed: %s', (_, text, position) => {
    expect(problemIn(text)).toEqual({
      code: 'INVALID_JSON',
      message: `the values of a body must be nested at most 20 deep, and position ${position} goes deeper`,
    })
  })
})

it('reads every object', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 5 })),
      fc.constantFrom(undefined, 1, '\t'),
      (value, space) => {
        const text = JSON.stringify(value, null, space)
        expect(readJson(Buffer.from(text))).toEqual(JSON.parse(text))
      },
    ),
  )
})

function problemIn(text: string): { code: string; message: string } {
  try {
    readJson(Buffer.from(text))
  } catch (error) {
    const { code, message } = error as RequestError
    return { code, message }
  }
  throw new Error('this is JSON')
}

/** What Node says differs from version to version. */
function reasonOfParser(text: string): string {
  try {
    JSON.parse(text)
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('this is JSON')
}
