import { describe, expect, it } from 'vitest'
import { LIVE } from '../../../test/cli/live-reports.ts'
import type { LiveReport, LiveSecond } from '../../observe/live-report.ts'
import { chooseColors } from '../terminal/colors.ts'
import { measureWidth } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { composeTopLines } from './top-lines.ts'

const colors = chooseColors({ hasColour: false } as Terminal)
const place = 'http://127.0.0.1:8080'
const drawn = (report: LiveReport, columns = 100, rows?: number) =>
  composeTopLines(report, place, { columns, rows }, colors)

describe('top draws', () => {
  it('rates, policies, and the busiest and most refused keys', () => {
    const [head, ...lines] = drawn(LIVE)
    expect(head).toMatch(/^sluice 1\.2\.3 at http:\/\/127\.0\.0\.1:8080, up 1 h, \d{4}-\d\d-\d\d [\d:.]{12}$/)
    expect(lines.join('\n')).toBe(
      `
store: redis, 127.0.0.1:6379, healthy
last second: 30 allowed, 10 refused (25.0 %), p50 0.21 ms, p99 1.50 ms

policy    allowed/s  refused/s  allowed  refused  refused by
api            65.0        5.0     1200       40  api 40
messages        0.0        0.0        5        7  ip 7

allowed  refused  policy    busiest keys
    900       10  api       user:42
      5        7  messages  user=42, ip=203.0.113.7

allowed since  refused  policy  most refused keys
            1       30  api     user:7
`.trim(),
    )
  })

  it('a service that has decided nothing yet', () => {
    const lines = drawn({ ...LIVE, seconds: [], busiest: [], mostRefused: [] })
    expect(lines[2]).toBe('no decision yet')
    expect(lines).toHaveLength(7)
  })

  it('a second without a request, and one with all there is', () => {
    const last = LIVE.seconds[1] as LiveSecond
    const quiet = { ...last, allowed: 0, refused: 0, p50Ms: null, p99Ms: null }
    expect(drawn({ ...LIVE, seconds: [quiet] })[2]).toBe('last second: 0 allowed, 0 refused')
    const loud = { ...last, wouldRefuse: 2, decidedBy: { redis: 1, fallback: 3 } }
    expect(drawn({ ...LIVE, seconds: [loud] })[2]).toContain('(25.0 %), 2 would be refused, 3 without the store, p50')
    const hot = { ...last, decidedBy: { redis: 1, prefetch: 39 } }
    expect(drawn({ ...LIVE, seconds: [hot] })[2]).toContain('(25.0 %), 39 by prefetch, p50')
  })

  it('what is wrong with the store and with the file of policies', () => {
    const store = { ...LIVE.store, state: 'degraded', forMs: 2_000, error: 'connection refused' } as const
    const service = { ...LIVE.service, reloadError: 'limits.yaml:1:1: x' }
    const lines = composeTopLines(
      { ...LIVE, store, service },
      place,
      { columns: 100, rows: undefined },
      chooseColors({ hasColour: true } as Terminal),
    )
    expect(lines[1]).toBe('\u001b[31mstore: redis, 127.0.0.1:6379, degraded for 2 s: connection refused\u001b[39m')
    expect(lines[2]).toBe(
      '\u001b[33mthe policies file has mistakes, the policies before stay in force: limits.yaml:1:1: x\u001b[39m',
    )
  })

  it('no line longer than the columns and no more lines than the rows, whatever the size', () => {
    const many = Array.from({ length: 50 }, (_, index) => ({
      policy: 'api',
      key: `user:${index}`.repeat(20),
      allowed: 1,
      refused: 1,
      error: 0,
    }))
    for (const columns of [1, 10, 40, 80, 200]) {
      for (const rows of [1, 5, 12, 24, 100]) {
        const lines = drawn({ ...LIVE, busiest: many, mostRefused: many }, columns, rows)
        expect(lines.length).toBeLessThanOrEqual(rows)
        for (const line of lines) expect(measureWidth(line)).toBeLessThanOrEqual(columns)
      }
    }
    expect(
      drawn({ ...LIVE, busiest: many, mostRefused: many }, 80, 24).filter((line) => line.includes('user:')),
    ).toHaveLength(12)
  })

  it('nothing that would move the cursor', () => {
    const key = { policy: 'a\u001b[2Jb', key: 'x\r\ny\u202e', allowed: 1, refused: 0, error: 0 }
    const text = drawn({ ...LIVE, busiest: [key] }).join('\n')
    expect(text).toContain('a\\u001b[2Jb  x\\r\\ny\\u202e')
  })
})
