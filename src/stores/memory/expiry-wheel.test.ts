import fc from 'fast-check'
import { expect, it } from 'vitest'
import { ExpiryWheel } from './expiry-wheel.ts'

/** Everything that is available at `nowMs`; what is not due yet goes back, as the table does it. */
function due(wheel: ExpiryWheel, dueMs: ReadonlyMap<number, number>, nowMs: number): number[] {
  wheel.advance(nowMs)
  const found: number[] = []
  const early: number[] = []
  for (let slot = wheel.take(); slot !== -1; slot = wheel.take()) {
    if ((dueMs.get(slot) as number) <= nowMs) found.push(slot)
    else early.push(slot)
  }
  for (const slot of early) wheel.add(slot, dueMs.get(slot) as number)
  return found.sort((a, b) => a - b)
}

it('finds every slot at the first moment at or after its time, at any distance', () => {
  const distance = fc.oneof(
    fc.nat(70),
    fc.nat(5_000),
    fc.nat(1_000_000),
    fc.nat(3e11),
    fc.constantFrom(63, 64, 65, 4_095, 4_096, 4_097),
  )
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 2e12 }),
      fc.array(fc.record({ distance, wait: distance, removed: fc.boolean() }), { maxLength: 60 }),
      (startMs, turns) => {
        const wheel = new ExpiryWheel()
        wheel.grow(turns.length)
        const waiting = new Map<number, number>()
        let nowMs = startMs
        for (const [slot, turn] of turns.entries()) {
          const expected = [...waiting].filter(([, dueMs]) => dueMs <= nowMs).map(([waitingSlot]) => waitingSlot)
          expect(due(wheel, waiting, nowMs)).toEqual(expected.sort((a, b) => a - b))
          for (const found of expected) waiting.delete(found)
          waiting.set(slot, nowMs + turn.distance)
          wheel.add(slot, nowMs + turn.distance)
          const [oldest] = waiting.keys()
          if (turn.removed && oldest !== undefined) {
            wheel.remove(oldest)
            waiting.delete(oldest)
          }
          nowMs += turn.wait
        }
      },
    ),
  )
})

it('does not lose a slot when the clock steps back', () => {
  const wheel = new ExpiryWheel()
  wheel.grow(2)
  const dueMs = new Map([
    [0, 1_000_500],
    [1, 1_030],
  ])
  expect(due(wheel, dueMs, 1_000_000)).toEqual([])
  wheel.add(0, 1_000_500)
  expect(due(wheel, dueMs, 1_000)).toEqual([])
  wheel.add(1, 1_030)
  expect(due(wheel, dueMs, 1_029)).toEqual([])
  expect(due(wheel, dueMs, 1_030)).toEqual([1])
  expect(due(wheel, dueMs, 1_000_499)).toEqual([])
  expect(due(wheel, dueMs, 1_000_500)).toEqual([0])
})
