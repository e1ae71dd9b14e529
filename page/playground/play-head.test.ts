import { expect, it } from 'vitest'
import { PlayHead, startSpeed } from './play-head.ts'

it('stands at the end until the user plays', () => {
  const head = new PlayHead(10_000)
  head.pass(500)
  expect([head.atMs, head.atS, head.isPlaying, head.lengthMs]).toEqual([10_000, 10, false, 10_000])
})

it('plays from the start when it is at the end, and stops there again', () => {
  const head = new PlayHead(10_000)
  head.play()
  expect(head.atMs).toBe(0)
  head.pass(4_000)
  expect([head.atMs, head.isPlaying]).toEqual([4_000, true])
  head.pass(7_000)
  expect([head.atMs, head.isPlaying]).toEqual([10_000, false])
})

it('goes on from where it was paused, at its speed', () => {
  const head = new PlayHead(10_000, { atMs: 1_000, speed: 2 })
  head.play()
  head.pass(1_000)
  head.pause()
  head.pass(1_000)
  expect(head.atMs).toBe(3_000)
  head.setSpeed(4)
  head.play()
  head.pass(1_000)
  expect([head.atMs, head.speed]).toEqual([7_000, 4])
})

it('stays on the time line', () => {
  const head = new PlayHead(10_000, { atMs: 99_999 })
  expect(head.atMs).toBe(10_000)
  head.seek(-5)
  expect(head.atMs).toBe(0)
  head.seek(99_999)
  expect(head.atMs).toBe(10_000)
})

it('reports every move until the listener stops', () => {
  const head = new PlayHead(10_000)
  let moves = 0
  const stop = head.subscribe(() => moves++)
  head.play()
  head.pass(10)
  head.pause()
  head.seek(5)
  head.setSpeed(2)
  expect(moves).toBe(5)
  stop()
  head.seek(6)
  expect(moves).toBe(5)
})

it.each([
  [1_000, 1],
  [15_000, 1],
  [60_000, 5],
  [3_600_000, 600],
  [86_400_000 * 365, 3_600],
])('plays a time line of %d ms at speed %d', (lengthMs, speed) => {
  expect(startSpeed(lengthMs)).toBe(speed)
})
