import fc from 'fast-check'
import { expect, it } from 'vitest'
import { DueQueue } from './due-queue.ts'

it('gives out what is due first, whatever the order in which it came', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.nat(20), fc.constant(undefined)), { size: '+1' }), (turns) => {
      const queue = new DueQueue<{ readonly dueMs: number }>()
      const model: number[] = []
      for (const dueMs of turns) {
        if (dueMs !== undefined) {
          queue.add(dueMs, { dueMs })
          model.push(dueMs)
          model.sort((one, other) => one - other)
        } else if (model.length > 0) expect(queue.take().dueMs).toBe(model.shift())
        expect(queue.nextMs).toBe(model[0] ?? Number.POSITIVE_INFINITY)
      }
      while (model.length > 0) expect(queue.take().dueMs).toBe(model.shift())
    }),
  )
})
