import { expect, it } from 'vitest'
import { measure } from './measure.ts'

it('counts what was decided, keeps so many at once, and warms up before', async () => {
  let [now, most] = [0, 0]
  const indexes: number[] = []
  const decide = async (index: number) => {
    indexes.push(index)
    most = Math.max(most, ++now)
    await new Promise(setImmediate)
    now -= 1
  }
  const { decisions, p50Ms, p99Ms } = await measure(decide, {
    forMs: 500,
    inFlight: 7,
    signal: new AbortController().signal,
  })
  expect(most).toBe(7)
  expect(indexes.filter((index) => index === 0)).toHaveLength(2)
  expect(indexes.slice(indexes.lastIndexOf(0))).toEqual(Array.from({ length: decisions }, (_, index) => index))
  expect(p50Ms).toBeGreaterThan(0)
  expect(p99Ms).toBeGreaterThanOrEqual(p50Ms)
})

it('keeps the times of the first ones only, when there are too many', async () => {
  const slow = (index: number) => (index < 3 ? new Promise((resolve) => setTimeout(resolve, 5)) : Promise.resolve())
  const signal = new AbortController().signal
  const { decisions, p50Ms } = await measure(slow, { forMs: 60, inFlight: 1, signal, mostTimes: 3 })
  expect(decisions).toBeGreaterThan(10)
  expect(p50Ms).toBeGreaterThan(3)
})

it('what takes no time to forbid was never measured', async () => {
  const nothing = await measure(async () => {}, { forMs: 1_000, inFlight: 1, signal: AbortSignal.abort() })
  expect(nothing).toMatchObject({ decisions: 0, perSecond: 0, p50Ms: 0, p99Ms: 0 })
})
