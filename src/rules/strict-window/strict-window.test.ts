import { describe, expect, it } from 'vitest'
import { countPassed } from '../../../test/even-traffic.ts'
import { describeProperties } from '../../../test/rule-properties.ts'
import { evenShare, promises } from './strict-window.promises.ts'
import { strictWindow } from './strict-window.ts'

describeProperties(promises)

describe('strictWindow', () => {
  it.each([
    [1, 110, 55],
    [2, 120, 80],
    [5, 120, 100],
    [10, 110, 100],
    [100, 1_100, 1_000],
  ])('states what passes of evenly spaced requests at a limit of %i', (limit, asked, passed) => {
    const rule = strictWindow({ limit, window: 1_000 })
    expect(asked * evenShare(rule)).toBe(passed)
    expect(countPassed(rule, asked, (request) => 1_000_000 + (request * 1_000) / limit)).toBe(passed)
  })

  it.each([1, 3, 10, 100])('lets ten of eleven pass of a limit of %i under constant pressure', (limit) => {
    const rule = strictWindow({ limit, window: 1_000 })
    expect(countPassed(rule, 11_000, (request) => 1_000_000 + request)).toBe(10 * limit)
  })
})
