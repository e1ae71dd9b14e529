import { expect, it } from 'vitest'
import { readRoute, routeTo } from './route.ts'

it.each([
  ['', 'live', '', undefined],
  ['#/live', 'live', '', undefined],
  ['#/nonsense', 'live', '', undefined],
  ['#/playground', 'playground', '', undefined],
  ['#/playground?v=1&r=a?b', 'playground', 'v=1&r=a?b', undefined],
  ['#token=abc', 'live', '', 'abc'],
  ['#/live&token=a%2Bb', 'live', '', 'a+b'],
  ['#token=%', 'live', '', '%'],
  ['#token=', 'live', '', undefined],
])('reads %j', (fragment, view, query, token) => {
  expect(readRoute(fragment)).toEqual({ view, query, token })
})

it('writes what it reads', () => {
  expect(routeTo('live')).toBe('#/live')
  expect(readRoute(routeTo('playground', 'v=1'))).toEqual({ view: 'playground', query: 'v=1', token: undefined })
})
