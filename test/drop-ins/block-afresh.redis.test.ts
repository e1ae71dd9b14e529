import { describe, expect, it } from 'vitest'
import { settleBlock } from '../../src/adapters/drop-in/hits.ts'
import { createLimiter } from '../../src/limiter/create-limiter.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { patient } from '../patient.ts'
import { everyMode, ruleOf } from '../rule-registry.ts'
import { describeOnStores } from './drop-in-suite.ts'

const windowMs = 60_000

describe('a block after which the count starts afresh', () => {
  describeOnStores((createStore, name) => {
    it.each(
      everyMode
        .map((mode) => ruleOf(mode, { limit: 7, timeMs: windowMs, rate: 7, parts: 10 }))
        .filter(({ refunds }) => refunds !== 'lease'),
    )('leaves nothing of $kind counted, and refuses for its own time only', async (rule) => {
      const clock = manualClock(1_000_000)
      const store = createStore()
      const counting = createLimiter({ name: name(), rule, store, clock, ...patient })
      const limiter = createLimiter({ name: name(), rule, store, clock, blockFor: windowMs, ...patient })
      // Over two windows, so that the one before counts too.
      for (let hit = 0; hit < 30; hit++) {
        await counting.consume('ada')
        clock.advance(2_500)
      }
      // Whatever has left by then, something is counted.
      await counting.consume('ada')
      const refusal = await limiter.consume('ada', { cost: 7 })
      expect(refusal).toMatchObject({ allowed: false, reason: 'limit' })
      const settled = await settleBlock(limiter, 'ada', refusal, 1_000)
      expect(settled).toMatchObject({ reason: 'blocked', retryAfterMs: 1_000 })
      clock.advance(999)
      expect((await limiter.consume('ada')).reason).toBe('blocked')
      clock.advance(1)
      expect(await limiter.consume('ada')).toMatchObject({ allowed: true, remaining: 6 })
    })
  })
})
