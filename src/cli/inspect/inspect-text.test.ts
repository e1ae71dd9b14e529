import { describe, expect, it } from 'vitest'
import type { Decision } from '../../core/decision.ts'
import { chooseColors } from '../terminal/colors.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { formatInspection } from './inspect-text.ts'
import type { Inspection, StoredKey } from './inspection.ts'

const DECISION: Decision = {
  ...{ allowed: true, limit: 5, remaining: 4, retryAfterMs: 0, resetAfterMs: 1_000, delayMs: 0, reason: undefined },
  ...{ nextAfterMs: 1_000, limitedBy: undefined, wouldRefuse: [], decidedBy: 'redis', tiers: {} },
}
const STORED: StoredKey = {
  ...{ name: 'sluice:api:fixed-window@1:a', type: 'string', ttlMs: 1_000, bytes: 120 },
  ...{ state: { atMs: 1 }, debt: 0, blockedUntilMs: null, holds: [], grants: [] },
}

function shown(decision: Partial<Decision>, stored: Partial<StoredKey>): string {
  const inspection: Inspection = {
    ...{
      policy: 'api',
      key: 'a',
      cost: 1,
      place: '127.0.0.1:6379',
      atMs: 0,
      decision: { ...DECISION, ...decision } as Decision,
    },
    limits: [
      {
        ...{ name: 'api', kind: 'fixed-window', limit: 5, parameters: { limit: 5 }, isShadow: false },
        stored: { ...STORED, ...stored },
      },
    ],
  }
  return formatInspection(inspection, chooseColors({ hasColour: false } as Terminal))
}

describe('an inspection for people', () => {
  it.each<[Partial<StoredKey>, string]>([
    [{}, '             string, 120 bytes, expires in 1 s\n'],
    [{ bytes: null }, '             string, expires in 1 s\n'],
    [{ ttlMs: null }, '             string, 120 bytes, has no TTL\n'],
    [{ state: { atMs: 1, counts: [0, 2] } }, '  state      atMs 1, counts 0 2\n'],
    [{ debt: 3 }, '  debt       3\n'],
    [
      {
        grants: [
          { amount: 40, endMs: 900 },
          { amount: 2, endMs: 800 },
        ],
      },
      '  prefetched  42 in 2 grants, the last for 900 ms\n',
    ],
  ])('%j', (stored, line) => {
    expect(shown({}, stored)).toContain(line)
  })

  it('has no state where only a block is kept', () => {
    expect(shown({}, { state: null })).not.toContain('state')
  })

  it.each([
    ['limit', 'api', ': the limit is used up\n'],
    ['store-unavailable', 'api', ': the store does not answer\n'],
    ['reservation-ended', 'api', ': reservation-ended\n'],
    ['limit', 'other', ': other, the limit is used up\n'],
  ] as const)('is refused for %s by %s', (reason, limitedBy, words) => {
    expect(shown({ allowed: false, reason, limitedBy }, {})).toContain(`is refused now with a cost of 1${words}`)
  })
})
