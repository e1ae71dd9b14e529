import { expect, it } from 'vitest'
import { startSpeed } from './speed.ts'

it.each([
  [1_000, 1],
  [15_000, 1],
  [60_000, 5],
  [3_600_000, 600],
  [86_400_000 * 365, 3_600],
])('plays a time line of %d ms at speed %d', (lengthMs, speed) => {
  expect(startSpeed(lengthMs)).toBe(speed)
})
