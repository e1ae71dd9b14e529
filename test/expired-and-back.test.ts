import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fixedWindow } from '../src/rules/index.ts'
import { memoryStore } from '../src/stores/memory/memory-store.ts'
import { runs } from './effort.ts'
import { mapStore } from './map-store.ts'
import { openLimit } from './open-limit.ts'
import { starts, type Wait, waits } from './schedules.ts'
import { askTiers, calls, openTiers, tiers, traceOf, waitAfter } from './tier-twin.ts'

// A clock that is taken back by up to a minute, after what it said before was believed.

describe('in memory', () => {
  it('what has expired is not forgotten while the clock may step back', () => {
    const rule = fixedWindow({ limit: 5, window: 1_000 })
    const oneLimit = openLimit(memoryStore(), { limiter: 'a', rule })
    const admitted = (nowMs: number): number =>
      [1, 1, 1, 1, 1].filter((amount) => {
        const answer = oneLimit.decide('key', { type: 'consume', amount }, nowMs)
        return 'allowed' in answer && answer.allowed
      }).length
    expect(admitted(999)).toBe(5)
    oneLimit.decide('key', { type: 'peek', amount: 1 }, 1_000)
    expect([admitted(999), admitted(1_000), admitted(999)]).toEqual([0, 5, 0])
  })

  it('everything is decided as if nothing was ever forgotten: holds, blocks and ids too', async () => {
    const back = fc.constantFrom<Wait>(-1, -2, -250, -999, -10_000)
    const property = fc.asyncProperty(
      tiers(fc.boolean()),
      calls(fc.oneof(waits, back)),
      starts,
      async (tierList, callList, startMs) => {
        const [memory, all] = [memoryStore(), mapStore()]
        const limits = { memory: openTiers(memory, 'a', tierList), all: openTiers(all, 'a', tierList) }
        let nowMs = startMs
        let latestMs = startMs
        const trace: string[] = []
        for (const call of callList) {
          const expected = await askTiers(all, limits.all, tierList, call, nowMs)
          trace.push(traceOf(tierList, call, nowMs))
          expect(await askTiers(memory, limits.memory, tierList, call, nowMs), trace.join('\n')).toEqual(expected)
          nowMs = Math.max(nowMs + waitAfter(call.wait, expected), latestMs - 60_000)
          latestMs = Math.max(latestMs, nowMs)
        }
      },
    )
    await fc.assert(property, { numRuns: runs('limiter') })
  })
})
