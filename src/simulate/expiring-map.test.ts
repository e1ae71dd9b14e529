import fc from 'fast-check'
import { expect, it } from 'vitest'
import { ExpiringMap } from './expiring-map.ts'

it('forgets each key when it is due and not before, also when that was moved, and reports it once', () => {
  const turn = fc.record({ key: fc.constantFrom('a', 'b', 'c'), inMs: fc.nat(9), wait: fc.nat(4) })
  fc.assert(
    fc.property(fc.array(turn, { size: '+1' }), (turns) => {
      const map = new ExpiringMap<number>()
      const model = new Map<string, { value: number; dueMs: number }>()
      let nowMs = 0
      for (const [value, { key, inMs, wait }] of turns.entries()) {
        map.set(key, value, nowMs + inMs)
        model.set(key, { value, dueMs: nowMs + inMs })
        nowMs += wait
        const gone: [string, number][] = []
        map.expire(nowMs, (goneKey, goneValue) => gone.push([goneKey, goneValue]))
        const expected = [...model].filter(([, kept]) => kept.dueMs <= nowMs)
        for (const [dueKey] of expected) model.delete(dueKey)
        expect(new Map(gone)).toEqual(new Map(expected.map(([dueKey, kept]) => [dueKey, kept.value])))
        expect(gone.length).toBe(expected.length)
        expect(map.size).toBe(model.size)
        for (const name of ['a', 'b', 'c']) expect(map.get(name)).toBe(model.get(name)?.value)
      }
    }),
  )
})
