import { expect, it } from 'vitest'
import { chooseColors } from './colors.ts'
import { formatTable, measureWidth, truncate } from './table.ts'

it('columns are as wide as their widest text, numbers end in line, and lines have no blanks at their end', () => {
  const rows = [
    ['name', 'count', 'what'],
    ['a', '10', ''],
    ['long one', '9', 'x'],
  ]
  expect(formatTable(rows, [1])).toBe('name      count  what\na            10\nlong one      9  x\n')
  expect(formatTable([['a', 'b'], ['long']])).toBe('a     b\nlong\n')
  expect(formatTable([])).toBe('')
})

it('colours take no room', () => {
  const { red } = chooseColors({ hasColour: true } as Parameters<typeof chooseColors>[0])
  expect(red('x')).toBe('\u001b[31mx\u001b[39m')
  expect(measureWidth(red('Zoë'))).toBe(3)
  expect(formatTable([[red('a'), 'b']])).toBe(`${red('a')}  b\n`)
})

it.each([
  ['abcdef', 6, 'abcdef'],
  ['abcdef', 5, 'abcd…'],
  ['abcdef', 1, '…'],
  ['abcdef', 0, ''],
  ['😀😀😀', 2, '😀…'],
])('%s fits into %d columns as %s', (text, width, shown) => {
  expect(truncate(text, width)).toBe(shown)
})
