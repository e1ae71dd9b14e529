import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { shareLines } from '../../scripts/lua/share-lines.mjs'
import { joinLines } from '../../src/stores/redis/join-lines.ts'
import { runs } from '../effort.ts'

const first = 'local limit, windowMs = tonumber(ARGV[1]), tonumber(ARGV[2])'
const second = 'local nowMs, blockMs = tonumber(ARGV[3] or -1), tonumber(ARGV[4] or 0)'

describe('the lines of all scripts', () => {
  it('become a text by its ranges', () => {
    expect(joinLines(['a', 'b', 'c'], [1, 2, 0, 1])).toBe('b\nc\na')
  })

  it.each([
    { title: 'a range that two have', texts: [`a\n${first}\n${second}\nb`, `${first}\n${second}`], lines: 4 },
    { title: 'a text that is there twice', texts: [first, first], lines: 1 },
    { title: 'a range that is there twice in one text', texts: [`${first}\na\n${first}`], lines: 2 },
    { title: 'a short line', texts: ['end\nend', 'end'], lines: 3 },
  ])('are $lines for $title', ({ texts, lines: expected }) => {
    const { lines, ranges } = shareLines(texts)
    expect(lines.split('\n')).toHaveLength(expected)
    expect(ranges.map((one) => joinLines(lines.split('\n'), one))).toEqual(texts)
  })

  it('give back any texts that were shared', () => {
    const line = fc.constantFrom(first, second, '', 'end', 'else', 'return reply')
    const text = fc.array(line, { minLength: 1, maxLength: 12 }).map((lines) => lines.join('\n'))
    fc.assert(
      fc.property(fc.array(text, { maxLength: 5 }), (texts) => {
        const { lines, ranges } = shareLines(texts)
        expect(ranges.map((one) => joinLines(lines.split('\n'), one))).toEqual(texts)
      }),
      { numRuns: runs('formula') },
    )
  })
})
