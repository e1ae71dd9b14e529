import { expect, it } from 'vitest'
import { slidingLog } from '../rules/sliding-log/sliding-log.ts'
import { consume, peek } from './consume.ts'
import { UNTOUCHED } from './key-state.ts'

it('a block that is over is kept whether or not an old state of another rule is still there', () => {
  const [short, long] = [slidingLog({ limit: 1, windowMs: 7 }), slidingLog({ limit: 1, windowMs: 61_000 })]
  const counted = consume(short, UNTOUCHED, 1, 1_000)
  const { block } = consume(short, counted, 1, 1_000, 250)
  expect(block).toEqual({ atMs: 1_000, untilMs: 1_250 })
  for (const stored of [
    { block, state: counted.state, holds: undefined, countedBy: short },
    { block, state: undefined, holds: undefined },
  ]) {
    expect(peek(long, stored, 1, 1_250).block).toEqual(block)
  }
})
