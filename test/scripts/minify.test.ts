import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { minify } from '../../scripts/lua/minify.mjs'
import { runs } from '../effort.ts'
import { treeOf } from './same-program.ts'

/** The code behind a first line that stays. */
function shorten(code: string): string {
  const [first, rest] = minify(`-- first\n${code}`).split(/(?<=^.*\n)/)
  expect(first).toBe('-- first\n')
  return rest ?? ''
}

describe('what a server runs of a script', () => {
  it.each([
    ['a comment of its own', 'local a=1\n  -- why\nlocal b=2\n', 'local a=1\nlocal b=2\n'],
    ['one at the end of a line', 'local a=1 -- why\nlocal b\n', 'local a=1\nlocal b\n'],
    ['one of several lines', 'local a --[[ why\nand why ]] =1\n', 'local a=1\n'],
    ['one of another level', 'local a --[==[ ]] ]==]\nlocal b\n', 'local a\nlocal b\n'],
    ['one between two words', 'local--[[]]a\n', 'local a\n'],
    ['one that has a quote', "local a -- don't\nlocal b -- don't\n", 'local a\nlocal b\n'],
    ['empty lines', 'local a\n\n\nlocal b\n', 'local a\nlocal b\n'],
    ['indentation', 'do\n  local a\n\tlocal b\nend\n', 'do\nlocal a\nlocal b\nend\n'],
    ['spaces around operators', 'local a, b = 1 + 2, { 3 }\n', 'local a,b=1+2,{3}\n'],
    ['spaces around minus', 'local a = b - 1, -b\n', 'local a=b-1,-b\n'],
    ['spaces around points', 'local a = b .. c\n', 'local a=b..c\n'],
    ['spaces around texts', "if a == 'b' and c['d'] then end\n", "if a=='b'and c['d']then end\n"],
  ])('has not %s', (_, code, expected) => {
    expect(shorten(code)).toBe(expected)
  })

  it.each([
    ['dashes', `local a,b='--',"--[[" -- why\n`, `local a,b='--',"--[["\n`],
    ['quotes', `local a='"--' .. "'--" -- why\n`, `local a='"--'.."'--"\n`],
    ['escapes', `local a='\\'--  ' -- why\n`, `local a='\\'--  '\n`],
    ['operators', `local a='a , b' -- why\n`, `local a='a , b'\n`],
    ['several lines', 'local a=[[\n  --\n\n]] -- why\n', 'local a=[[\n  --\n\n]]\n'],
    ['a level', 'local a=[=[ ]]  -- ]=]\n', 'local a=[=[ ]]  -- ]=]\n'],
    ['the name of a local', `local name='name'\n`, `local IZ='name'\n`],
  ])('keeps a text with %s', (_, code, expected) => {
    expect(shorten(code)).toBe(expected)
  })

  it.each([
    ['minus of minus', 'local a=1 - -b\n'],
    ['minus of minus of minus', 'local a=- - -b\n'],
    ['numbers that are joined', 'local a=1 .. 2\n'],
    ['a number that a text follows', 'local a=b .. 2 .. c\n'],
    ['a fraction behind a text', 'local a=b .. .5\n'],
    ['a text in long brackets as a field', 'local a=b[ [[c]] ]\n'],
  ])('keeps the spaces of %s', (_, code) => {
    expect(shorten(code)).toBe(code)
  })

  it('calls the same local the same wherever it is, and never as anything else is called', () => {
    expect(shorten('local name=1\ndo local name=2 end\n')).toBe('local IZ=1\ndo local IZ=2 end\n')
    expect(shorten('local name,IZ=1,other.name\n')).toBe('local Ja,IZ=1,other.name\n')
    expect(shorten('local name={name=IZ,IZ=1}\n')).toBe('local Ja={name=IZ,IZ=1}\n')
    expect(shorten('local other=1\nlocal name=2\n').slice(-6)).toBe(' IZ=2\n')
  })

  it('calls a local that scripts name often by one letter, unless something else is called so', () => {
    expect(shorten('local rule=1\n')).toBe('local a=1\n')
    expect(shorten('local rule,nowMs=a,1\n')).toBe('local RG,d=a,1\n')
  })

  it('means the same, whatever it is made of', () => {
    const piece = fc.constantFrom(
      ...['local alone = 1', 'alone = alone - -alone', 'if alone then', 'end', 'other(alone)', 'local beside =', 'do'],
      ...['local alone = 1 .. 2', 'alone = alone .. .5', 'alone = alone - - -1', 'alone[ alone[1] ]'],
      ...["'--'", '"-- \\" --"', '[[ -- ]]', '[==[\n\n--]]]==]', ' .. ', 'alone.beside', '{ alone = alone }'],
      ...['-- why', "-- don't", '--[[ why ]]', '--[=[\n]] ]=]', '--[', ' ', '\n', '\n\n  ', '\t', ';'],
    )
    const seen = { programs: 0 }
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const code = pieces.join('')
        const tree = tryToRead(code)
        if (tree === undefined) return
        seen.programs++
        expect(treeOf(shorten(code))).toEqual(tree)
      }),
      { numRuns: 20 * runs('formula') },
    )
    expect(seen.programs).toBeGreaterThan(runs('formula'))
  })
})

function tryToRead(code: string): unknown {
  try {
    return treeOf(code)
  } catch {
    return undefined
  }
}
