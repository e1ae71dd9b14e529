import { expect, it } from 'vitest'
import { manualClock } from './manual-clock.ts'

it('stands still until it is told to move', () => {
  const clock = manualClock()
  expect(clock.nowMs()).toBe(0)
  clock.advance(143)
  expect(clock.nowMs()).toBe(143)
  clock.set(5)
  expect(clock.nowMs()).toBe(5)
})

it('refuses to go where no clock goes', () => {
  const clock = manualClock(10)
  expect(() => clock.advance(-1)).toThrow('byMs must be a whole number of at least 0, got -1')
  expect(() => clock.set(0.5)).toThrow('toMs must be a whole number of at least 0, got 0.5')
  expect(() => manualClock(Number.NaN)).toThrow('startMs must be a whole number of at least 0, got NaN')
  expect(clock.nowMs()).toBe(10)
})
