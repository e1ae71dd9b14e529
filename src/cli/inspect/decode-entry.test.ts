import { describe, expect, it } from 'vitest'
import { fixedWindow, slidingLog, strictWindow } from '../../rules/index.ts'
import { countDebt } from './count-debt.ts'
import { decodeEntry } from './decode-entry.ts'

const fixed = fixedWindow({ limit: 5, window: 1_000 })
const log = slidingLog({ limit: 5, window: 1_000 })
const strict = strictWindow({ limit: 5, window: 1_000, slices: 4 })
const encodeNumbers = (...numbers: number[]) => new Uint8Array(new Float64Array(numbers).buffer)

describe('what Redis keeps of a key', () => {
  it('is a state', () => {
    const entry = decodeEntry(fixed, encodeNumbers(1_000, 3, -1_000))
    expect(entry).toMatchObject({ state: { atMs: 1_000, count: 3 }, parts: { atMs: 1_000, count: 3 }, holds: [] })
  })

  it('is a block, holds and a state, each of which may be missing', () => {
    const block = [Number.NEGATIVE_INFINITY, 10, 20]
    const holds = [-2.5, 101, 2, ...[7, 8], ...[3, 1], ...[3, 1], ...[100, 101], ...[200, 201]]
    expect(decodeEntry(fixed, encodeNumbers(...block, ...holds, 0, 4, 1_000))).toMatchObject({
      block: { atMs: 10, untilMs: 20 },
      holds: [
        { id: 7, amount: 3, left: 2, takenMs: 100, untilMs: 200 },
        { id: 8, amount: 1, left: 1, takenMs: 101, untilMs: 201 },
      ],
      parts: { atMs: 0, count: 4 },
    })
    expect(decodeEntry(fixed, encodeNumbers(...block))).toMatchObject({
      block: { atMs: 10 },
      state: undefined,
      holds: [],
    })
    expect(decodeEntry(log, encodeNumbers(...holds))).toMatchObject({ block: undefined, parts: undefined, taken: [] })
  })

  it('is grants, after holds and before a state', () => {
    const holds = [-1.5, 101, 2, 7, 3, 3, 100, 200]
    const grants = [-2.75, 50, 1_100, 1_200, 2_000, ...[8, 40, 1_100], ...[9, 10, 1_200]]
    const lent = [
      { id: 8, amount: 40, endMs: 1_100 },
      { id: 9, amount: 10, endMs: 1_200 },
    ]
    const all = decodeEntry(fixed, encodeNumbers(...holds, ...grants, 0, 4, 1_000))
    expect(all).toMatchObject({ holds: [{ id: 7 }], grants: lent, parts: { count: 4 } })
    expect(decodeEntry(log, encodeNumbers(...grants))).toMatchObject({ holds: [], grants: lent, parts: undefined })
  })

  it('is slices, also of another number', () => {
    const state = { atMs: 1_000, counts: [1, 2], sliceMs: 500 }
    expect(decodeEntry(strict, encodeNumbers(1_000, 1, 2, -500))).toMatchObject({ state, parts: state })
  })

  it('is a log', () => {
    const entry = decodeEntry(log, encodeNumbers(30, 100, 1_000, 10, 104, 30, 109))
    expect(entry).toMatchObject({
      parts: { atMs: 30, total: 9, spanMs: 1_000 },
      taken: [
        [10, 4],
        [30, 5],
      ],
    })
    expect(entry && countDebt(log, entry, 500)).toBe(4)
    expect(entry && countDebt(log, entry, 1_010)).toBe(0)
  })

  it('is a log in runs, each in its place', () => {
    const block = [Number.NEGATIVE_INFINITY, 10, 20]
    // Of the first run one pair has left; the second one starts its sums over. The clock was set back after the first.
    const line = [60, 5, 1_000, ...[2, 17, 48, 2, 7, 20, 100], ...[1, 1, 16, 0, 1, 40, 0]]
    const places = [
      [40, 1],
      [110, 2, 120, 5, 130, 9],
    ].map((pairs) => [...pairs, ...Array(512 - pairs.length).fill(7)])
    const head = [-0.125, 2, 8 * line.length, 8 * block.length]
    expect(decodeEntry(log, encodeNumbers(...head, ...places.flat(), ...line, ...block, 99))).toMatchObject({
      block: { atMs: 10, untilMs: 20 },
      parts: { atMs: 60, total: 13, spanMs: 1_000 },
      taken: [
        [20, 3],
        [30, 4],
        [40, 1],
        [60, 5],
      ],
    })
  })

  it.each([
    ['a text', fixed, new TextEncoder().encode('hello')],
    ['too short', fixed, encodeNumbers(1_000)],
    ['too long', fixed, encodeNumbers(1_000, 3, 1_000, 5)],
    ['too short for slices', strict, encodeNumbers(1_000, 3, 1_000)],
    ['half a log', log, encodeNumbers(30, 9, 1_000, 10)],
    ['an empty log', log, encodeNumbers(30, 9, 1_000)],
  ])('is something else: %s', (_, rule, bytes) => {
    expect(decodeEntry(rule, bytes)).toBeUndefined()
  })
})
