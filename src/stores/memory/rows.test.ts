import fc from 'fast-check'
import { expect, it } from 'vitest'
import { runs } from '../../../test/effort.ts'
import type { CompactCodec, RuleState, StateCodec } from '../../core/rule.ts'
import { PAGE } from './pages.ts'
import { createRows } from './rows.ts'

interface Sized extends RuleState {
  readonly size: number
}

const cells: StateCodec<Sized> = {
  count: 2,
  write({ atMs, size }, row, at) {
    row[at] = atMs
    row[at + 1] = size
  },
  read: (row, at) => ({ atMs: row[at] as number, size: row[at + 1] as number }),
}
const packed: CompactCodec<Sized> = { ...cells, fits: ({ size }) => size < 100 }

const turn = fc.record({
  action: fc.constantFrom('add', 'add', 'write', 'remove'),
  place: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  size: fc.constantFrom(1, 99, 100, 5_000),
})

it.each([
  ['numbers', cells],
  ['numbers where they fit', packed],
  ['objects', undefined],
])('holds the state of every slot, whichever goes: %s', (_, layout) => {
  // From an almost full page, so that slots move between two.
  fc.assert(
    fc.property(fc.array(turn, { maxLength: 60, size: 'max' }), fc.constantFrom(0, PAGE - 3), (turns, before) => {
      const rows = createRows(layout)
      const model: Sized[] = []
      const add = (size: number): void => {
        const state = { atMs: model.length, size }
        rows.grow(model.length + 1)
        rows.write(model.length, state)
        model.push(state)
      }
      for (let slot = 0; slot < before; slot++) add(slot % 2 === 0 ? 1 : 100)
      for (const { action, place, size } of turns) {
        const slot = Math.max(Math.floor(place * model.length), model.length - 20)
        if (action === 'add' || model.length === 0) add(size)
        else if (action === 'write') {
          model[slot] = { atMs: 7, size }
          rows.write(slot, { atMs: 7, size })
        } else {
          rows.remove(slot, model.length - 1)
          const last = model.pop() as Sized
          if (slot < model.length) model[slot] = last
        }
        for (let other = Math.max(0, model.length - 25); other < model.length; other++) {
          expect(rows.read(other)).toEqual(model[other])
        }
      }
    }),
    { numRuns: runs('structure') },
  )
})
