import fc from 'fast-check'
import { parse } from 'luaparse'
import { describe, expect, it } from 'vitest'
import { withoutComments } from '../../scripts/lua/without-comments.mjs'
import { runs } from '../effort.ts'

/** The code behind a first line that stays. */
function strip(code: string): string {
  const [first, rest] = withoutComments(`-- first\n${code}`).split(/(?<=^.*\n)/)
  expect(first).toBe('-- first\n')
  return rest ?? ''
}

describe('a script without its comments', () => {
  it.each([
    ['a line of its own', 'local a = 1\n  -- why\nlocal b = 2\n', 'local a = 1\nlocal b = 2\n'],
    ['the end of a line', 'local a = 1 -- why\nlocal b\n', 'local a = 1\nlocal b\n'],
    ['several lines', 'local a --[[ why\nand why ]] = 1\n', 'local a = 1\n'],
    ['a long one of another level', 'local a --[==[ ]] ]==]\nlocal b\n', 'local a\nlocal b\n'],
    ['a comment between two words', 'local--[[]]a\n', 'local a\n'],
    ['empty lines', 'local a\n\n\nlocal b\n', 'local a\nlocal b\n'],
    ['indentation', 'do\n  local a\n\tlocal b\nend\n', 'do\nlocal a\nlocal b\nend\n'],
    ['a text that has dashes', `local a, b = '--', "--[[" -- why\n`, `local a, b = '--', "--[["\n`],
    ['a text that has quotes', `local a = '"--' .. "'--" -- why\n`, `local a = '"--' .. "'--"\n`],
    ['a text that has escapes', `local a = '\\'--  ' -- why\n`, `local a = '\\'--  '\n`],
    ['a text over several lines', 'local a = [[\n  --\n\n]] -- why\n', 'local a = [[\n  --\n\n]]\n'],
    ['a text with a level', 'local a = [=[ ]]  -- ]=]\n', 'local a = [=[ ]]  -- ]=]\n'],
    ['a comment that has a quote', "local a -- don't\nlocal b -- don't\n", 'local a\nlocal b\n'],
    ['what is minus of minus', 'local a = 1 - -b\n', 'local a = 1 - -b\n'],
  ])('loses or keeps %s', (_, code, expected) => {
    expect(strip(code)).toBe(expected)
    expect(parse(expected, { comments: false })).toEqual(parse(code, { comments: false }))
  })

  it('means the same, whatever it is made of', () => {
    const piece = fc.constantFrom(
      ...[
        'local a = 1',
        'a = a - -a',
        'if a then',
        'end',
        'f(a)',
        'local b =',
        "'--'",
        '"-- \\" --"',
        '[[ -- ]]',
        '[==[\n\n--]]]==]',
      ],
      ...['-- why', "-- don't", '--[[ why ]]', '--[=[\n]] ]=]', '--[', ' ', '\n', '\n\n  ', '\t', '{', '}', ';'],
    )
    const seen = { programs: 0 }
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const code = pieces.join('')
        const tree = tryToParse(code)
        seen.programs += tree === undefined ? 0 : 1
        if (tree !== undefined) expect(parse(strip(code), { comments: false })).toEqual(tree)
      }),
      { numRuns: 20 * runs('formula') },
    )
    expect(seen.programs).toBeGreaterThan(runs('formula'))
  })
})

function tryToParse(code: string): unknown {
  try {
    return parse(code, { comments: false })
  } catch {
    return undefined
  }
}
