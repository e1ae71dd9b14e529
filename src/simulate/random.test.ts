import { expect, it } from 'vitest'
import { randomFrom } from './random.ts'

function many(count: number, draw: () => number): number[] {
  return Array.from({ length: count }, draw)
}

const mean = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0) / numbers.length

it('always gives the same numbers for the same seed: a trace is shared by its seed', () => {
  const random = randomFrom(1)
  const first = many(4, random.next)
  expect(first).toEqual(many(4, randomFrom(1).next))
  expect(first.map((number) => number * 2 ** 32)).toEqual(FIRST)
})

it('gives other numbers for another seed', () => {
  expect(new Set([0, 1, 2, 3, 2 ** 32 - 1].map((seed) => randomFrom(seed).next())).size).toBe(5)
})

it('spreads evenly from 0 to below 1', () => {
  const numbers = many(100_000, randomFrom(7).next)
  const tenths = new Array<number>(10).fill(0)
  for (const number of numbers) tenths[Math.floor(number * 10)] = (tenths[Math.floor(number * 10)] as number) + 1
  for (const count of tenths) expect(Math.abs(count - 10_000)).toBeLessThan(400)
  expect(Math.min(...numbers)).toBeGreaterThanOrEqual(0)
  expect(Math.max(...numbers)).toBeLessThan(1)
})

it('gives every whole number of a range, and no other', () => {
  const random = randomFrom(3)
  expect(new Set(many(1_000, () => random.whole(3, 6)))).toEqual(new Set([3, 4, 5, 6]))
})

it('draws times between events that have nothing to do with each other', () => {
  const numbers = many(100_000, randomFrom(5).exponential)
  expect(mean(numbers)).toBeCloseTo(1, 1)
  expect(mean(numbers.map((number) => (number - 1) ** 2))).toBeCloseTo(1, 1)
  for (const above of [0.25, 1, 2.5]) {
    expect(mean(numbers.map((number) => (number > above ? 1 : 0)))).toBeCloseTo(Math.exp(-above), 2)
  }
})

const FIRST = [393288148, 2174103013, 3814759091, 2092745082]
