import { describe, expect, it } from 'vitest'
import { createLimiter } from '../limiter/create-limiter.ts'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { manualClock } from '../testing/manual-clock.ts'
import { shadowReport } from './shadow-report.ts'

const HOUR = 3_600_000
const START = 1_767_225_600_000
const two = fixedWindow({ limit: 2, window: HOUR })
const four = fixedWindow({ limit: 4, window: HOUR })

describe('a shadow report', () => {
  it('says what a limit would have refused, of how many, and whom', async () => {
    const clock = manualClock(START)
    const limiter = createLimiter({ name: 'api', rule: two, shadow: true, clock })
    await limiter.consume('early')
    const watch = shadowReport(limiter, { clock })
    for (const key of ['a', 'b', 'a', 'a', 'c', 'a', 'b', 'b']) {
      clock.advance(1_000)
      expect((await limiter.consume(key)).allowed).toBe(true)
    }
    expect(watch.report()).toEqual({
      limiter: 'api',
      fromMs: START,
      toMs: START + 8_000,
      requests: 8,
      refused: 0,
      tiers: [
        {
          name: 'api',
          kind: 'fixed-window',
          limit: 2,
          isShadow: true,
          requests: 8,
          refused: 3,
          firstMs: START + 4_000,
          lastMs: START + 8_000,
          refusedKeys: 2,
          keys: [
            { key: 'a', refused: 2, error: 0 },
            { key: 'b', refused: 1, error: 0 },
          ],
        },
      ],
    })
    expect(watch.text()).toBe(
      [
        'api, 2026-01-01 00:00:00Z to 2026-01-01 00:00:08Z: refused 0 of 8 (0 %) requests',
        '  api (fixed-window, limit 2, shadow): would have refused 3 of 8 (37.5 %), of 2 keys, first 2026-01-01 00:00:04Z, last 2026-01-01 00:00:08Z',
        '    2  a',
        '    1  b',
      ].join('\n'),
    )
  })

  it('sets limits in shadow mode beside those that are enforced, each with its own subjects', async () => {
    const clock = manualClock(START)
    const tiers = { user: four, ip: { rule: two, shadow: true }, org: four }
    const limiter = createLimiter({ name: 'api', tiers, clock })
    const watch = shadowReport(limiter, { clock })
    for (let time = 0; time < 5; time++) await limiter.consume({ user: '42', ip: { kind: 'ip', name: '::1' } })
    await limiter.consume('everyone')
    const { requests, refused, tiers: reported } = watch.report()
    expect([requests, refused]).toEqual([6, 1])
    expect(reported).toMatchObject([
      { name: 'user', isShadow: false, requests: 6, refused: 1, keys: [{ key: '42', refused: 1 }] },
      { name: 'ip', isShadow: true, requests: 6, refused: 3, keys: [{ key: 'ip~::1', refused: 3 }] },
      { name: 'org', isShadow: false, requests: 1, refused: 0, firstMs: null, lastMs: null, refusedKeys: 0, keys: [] },
    ])
    expect(watch.text().split('\n')).toEqual([
      expect.stringContaining('refused 1 of 6 (16.67 %) requests'),
      expect.stringContaining('  user (fixed-window, limit 4): refused 1 of 6 (16.67 %), of 1 key, first'),
      '    1  42',
      expect.stringContaining('  ip (fixed-window, limit 2, shadow): would have refused 3 of 6 (50 %), of 1 key'),
      '    3  ip~::1',
      '  org (fixed-window, limit 4): refused 0 of 1 (0 %)',
    ])
  })

  it('reports a limit that is enforced alone', async () => {
    const limiter = createLimiter({ name: 'api', rule: two })
    const watch = shadowReport(limiter)
    for (let time = 0; time < 3; time++) await limiter.consume({ kind: 'user', name: '42' })
    expect(watch.report()).toMatchObject({ refused: 1, tiers: [{ refused: 1, keys: [{ key: 'user~42' }] }] })
  })

  it('ends when it is stopped', async () => {
    const clock = manualClock(START)
    const limiter = createLimiter({ name: 'api', rule: two, clock })
    const watch = shadowReport(limiter, { clock })
    await limiter.consume('a')
    watch.stop()
    clock.advance(5_000)
    watch.stop()
    await limiter.consume('a')
    expect(watch.report()).toMatchObject({ requests: 1, toMs: START })
    const none = shadowReport(limiter, { clock })
    expect(none.text()).toContain(': refused 0 of 0 requests\n  api (fixed-window, limit 2): refused 0 of 0')
  })

  it('stays of one size, lists as many keys as were asked for, and says what it may have missed', async () => {
    const clock = manualClock(START)
    const limiter = createLimiter({ name: 'api', rule: two, shadow: true, clock })
    const watch = shadowReport(limiter, { topKeys: 2, clock })
    for (let time = 0; time < 12; time++) await limiter.consume('greedy')
    for (let number = 0; number < 1_001; number++) {
      for (let time = 0; time < 3; time++) await limiter.consume(`visitor:${number}`)
    }
    const [tier] = watch.report().tiers
    expect(tier).toMatchObject({ refused: 1_011, refusedKeys: null })
    expect(tier?.keys).toHaveLength(2)
    expect(tier?.keys[0]).toEqual({ key: 'greedy', refused: 10, error: 0 })
    expect(watch.text()).toContain('of more than 1,000 keys')
    for (let number = 2_000; number < 5_000; number++) {
      for (let time = 0; time < 3; time++) await limiter.consume(`visitor:${number}`)
    }
    expect(watch.text()).toMatch(/^ {5}1 {2}visitor:\d+ \(up to \d+ more\)$/m)
  })

  it('does not call what is rare nothing', async () => {
    const limiter = createLimiter({ name: 'api', rule: fixedWindow({ limit: 10_001, window: HOUR }), shadow: true })
    const watch = shadowReport(limiter, { topKeys: 0 })
    for (let time = 0; time < 10_002; time++) await limiter.consume('a')
    expect(watch.text()).toContain('would have refused 1 of 10,002 (< 0.01 %), of 1 key')
    expect(watch.report().tiers[0]?.keys).toEqual([])
  })

  it('refuses wrong options, and a value that is not a limiter', () => {
    const limiter = createLimiter({ name: 'api', rule: two })
    expect(() => shadowReport(limiter, { topKeys: 1_001 })).toThrow(
      'topKeys must be a whole number from 0 to 1000, got 1001',
    )
    expect(() => shadowReport(limiter, { top: 3 } as never)).toThrow('shadowReport() has no option "top"')
    expect(() => shadowReport({} as never)).toThrow('shadowReport() takes a limiter, got an object')
  })
})
