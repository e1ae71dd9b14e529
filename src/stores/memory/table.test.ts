import fc from 'fast-check'
import { expect, it } from 'vitest'
import { runs } from '../../../test/effort.ts'
import type { RuleState, StateCodec } from '../../core/rule.ts'
import { Table } from './table.ts'

interface Timed extends RuleState {
  readonly untilMs: number
}

const cells: StateCodec<Timed> = {
  count: 2,
  write(state, row, at) {
    row[at] = state.atMs
    row[at + 1] = state.untilMs
  },
  read: (row, at) => ({ atMs: row[at] as number, untilMs: row[at + 1] as number }),
}

const turn = fc.record({
  key: fc.integer({ min: 0, max: 120 }).map(String),
  action: fc.constantFrom('set', 'set', 'set', 'delete', 'flood'),
  lifeMs: fc.oneof(fc.nat(5), fc.nat(500), fc.nat(1_000_000)),
  waitMs: fc.oneof(fc.constant(0), fc.nat(5), fc.nat(2_000), fc.nat(2_000_000)),
})

it.each([
  ['rows of numbers', cells],
  ['objects', undefined],
])('holds what a plain map would hold, less what has expired: %s', (_, layout) => {
  fc.assert(
    fc.property(fc.array(turn, { maxLength: 200 }), fc.constantFrom(1, 5, 64, 100_000), (turns, maxKeys) => {
      const table = new Table<Timed>(maxKeys, layout, (state, nowMs) => Math.max(0, state.untilMs - nowMs))
      const model = new Map<string, Timed>()
      let nowMs = 1_000_000
      const set = (key: string, lifeMs: number): void => {
        const state = { atMs: nowMs, untilMs: nowMs + lifeMs }
        if (table.write(key, state, nowMs, lifeMs)) model.set(key, state)
      }
      for (const [index, { key, action, lifeMs, waitMs }] of turns.entries()) {
        nowMs += waitMs
        table.reclaim(nowMs)
        if (action === 'set') set(key, lifeMs)
        if (action === 'flood') for (let extra = 0; extra < 300; extra++) set(`${index}:${extra}`, lifeMs)
        if (action === 'delete') {
          table.delete(key)
          model.delete(key)
        }
        expect(table.keys.size).toBeLessThanOrEqual(maxKeys)
        for (const [known, state] of model) {
          if (state.untilMs > nowMs) expect(table.rows.read(table.keys.find(known))).toEqual(state)
          else model.delete(known)
        }
      }
      // Whatever happened before, everything expires, and there is room again for as many keys as are allowed.
      nowMs += 10_000_000
      for (let call = 0; table.keys.size > 0; call++) {
        expect(call).toBeLessThan(10_000)
        table.reclaim(nowMs)
      }
      for (let key = 0; key < Math.min(maxKeys, 200); key++)
        expect(table.write(`last:${key}`, { atMs: nowMs, untilMs: nowMs + 9 }, nowMs, 9)).toBe(true)
      if (maxKeys < 200) expect(table.write('one too many', { atMs: nowMs, untilMs: nowMs + 9 }, nowMs, 9)).toBe(false)
    }),
    { numRuns: runs('structure') },
  )
})
