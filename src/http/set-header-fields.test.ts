import { expect, it } from 'vitest'
import { setHeaderFields } from './set-header-fields.ts'

it.each<[string | number | string[] | null | undefined, string, boolean, string]>([
  [undefined, 'a', true, 'a'],
  [null, 'a', true, 'a'],
  ['', 'a', true, 'a'],
  ['x', 'a', false, 'a'],
  ['x', 'a, b', true, 'x, a, b'],
  ['a,x', 'a, b', true, 'a,x, b'],
  ['a, b', 'a, b', true, 'a, b'],
  [['x', 'y'], 'a', true, 'x,y, a'],
  ['"a";q=1', '"a";q=1', true, '"a";q=1, "a";q=1'],
])('after %j comes %j, joined: %j', (before, value, joins, result) => {
  const set: unknown[] = []
  setHeaderFields(
    [{ name: 'X', value, joins }],
    () => before,
    (name, text) => set.push([name, text]),
  )
  expect(set).toEqual([['X', result]])
})
