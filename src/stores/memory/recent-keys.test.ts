import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { collectGarbage } from '../../../test/collect-garbage.ts'
import { KeyIndex } from './key-index.ts'
import { type KeyPlace, RecentKeys } from './recent-keys.ts'

const pool = new Int32Array(1)

/** Notes four times the number of keys, which is how many are remembered. */
function fill(recent: RecentKeys, count: number, from = 0): void {
  for (let index = from; index < from + 4 * count; index++) recent.note(`key:${index}`, index, pool, 0, 0)
}

function countKnown(recent: RecentKeys, upTo: number): number {
  let known = 0
  for (let index = 0; index < upTo; index++) if (recent.find(`key:${index}`) !== undefined) known++
  return known
}

it('remembers one key of four, and 1,024 at most', () => {
  const recent = new RecentKeys()
  fill(recent, 10)
  expect(countKnown(recent, 40)).toBe(10)
  fill(recent, 1_014, 40)
  expect(countKnown(recent, 4_096)).toBe(1_024)
  fill(recent, 1, 4_096)
  expect(countKnown(recent, 4_100)).toBe(1)
})

it('rests after keys that were not asked for again, for a million searches', () => {
  const recent = new RecentKeys()
  fill(recent, 1_025)
  const again = (): KeyPlace | undefined => {
    for (let note = 0; note < 4; note++) recent.note('again', 1, pool, 0, 0)
    return recent.find('again')
  }
  let found = 0
  for (let search = 0; search < 1_048_576; search++) if (again() !== undefined) found++
  expect(found).toBe(0)
  expect(again()).toMatchObject({ slot: 1 })
})

// Few keys, so that each is remembered, moved, removed and added again many times.
it('an index finds each key where it is, whatever was removed and added since', () => {
  const name = fc.integer({ min: 0, max: 30 })
  const steps = fc.array(fc.tuple(fc.constantFrom('ask', 'ask', 'ask', 'remove'), name), {
    minLength: 1_000,
    maxLength: 2_000,
  })
  fc.assert(
    fc.property(steps, (list) => {
      const index = new KeyIndex()
      const slots: string[] = []
      for (const [step, number] of list) {
        const key = `key:${number}`
        const slot = index.find(key)
        expect(slot).toBe(slots.indexOf(key))
        if (step === 'ask' && slot < 0) slots[index.add()] = key
        if (step === 'remove' && slot >= 0) {
          index.remove(slot)
          const last = slots.pop() as string
          if (slot < slots.length) slots[slot] = last
        }
      }
    }),
  )
})

it('does not keep the text that a key is a part of', async () => {
  const recent = new RecentKeys()
  const large = 'x'.repeat(1_000_000)
  const noteParts = (): void => {
    for (let note = 0; note < 400; note++) {
      const body = `${note} ${large}`.replace('x', 'y')
      recent.note(body.slice(0, 100), note, pool, 0, 0)
    }
  }
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  noteParts()
  collectGarbage()
  await setImmediate()
  collectGarbage()
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(20_000_000)
  expect(recent.find(`3 y${'x'.repeat(97)}`)).toMatchObject({ slot: 3 })
})
