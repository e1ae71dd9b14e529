import { expect, it } from 'vitest'
import { driftingClock, VirtualTime } from './virtual-time.ts'

it('lets things happen in order, each at its time, and stands still between', () => {
  const time = new VirtualTime()
  const seen: [string, number][] = []
  time.after(5, () => seen.push(['later', time.nowMs]))
  time.after(2.5, () => {
    seen.push(['first', time.nowMs])
    time.after(1, () => seen.push(['from within', time.nowMs]))
  })
  time.after(11, () => seen.push(['not yet', time.nowMs]))
  time.run(10)
  expect(seen).toEqual([
    ['first', 2.5],
    ['from within', 3.5],
    ['later', 5],
  ])
  expect(time.nowMs).toBe(10)
})

it('has clocks that say whole milliseconds, go wrong, and ring unless they are stopped', () => {
  const time = new VirtualTime()
  const clock = driftingClock(time, 1_000, 0.01)
  const rung: number[] = []
  clock.timer?.(101, () => rung.push(clock.nowMs()))
  clock.timer?.(50, () => rung.push(0))()
  time.run(150.5)
  expect(rung).toEqual([1_101])
  expect(clock.nowMs()).toBe(1_152)
})
