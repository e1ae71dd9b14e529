import { expect, it } from 'vitest'
import { readClock, systemClock } from './clock.ts'

it('the system clock tells whole milliseconds since 1970', () => {
  const before = Date.now()
  const nowMs = readClock(systemClock)
  expect(nowMs).toBeGreaterThanOrEqual(before)
  expect(nowMs).toBeLessThanOrEqual(Date.now())
})

it.each([Number.NaN, -1, 0.5, Number.POSITIVE_INFINITY, 2 ** 53, '5', undefined, new Date(0)])(
  'refuses a clock that says %s',
  (said) => {
    expect(() => readClock({ nowMs: () => said as number })).toThrow(
      expect.objectContaining({
        code: 'INVALID_TIME',
        message: expect.stringMatching(/^clock\.nowMs\(\) must return whole milliseconds of at least 0, got /),
      }),
    )
  },
)
