import type { LiveReport, LiveSecond } from '../../src/observe/live-report.ts'

const START_MS = Date.UTC(2031, 0, 1)

const second = (atMs: number, allowed: number, refused: number): LiveSecond => ({
  atMs,
  allowed,
  refused,
  wouldRefuse: 0,
  decidedBy: { redis: allowed + refused },
  p50Ms: 0.214,
  p99Ms: 1.5,
  byPolicy: { api: { allowed, refused, byTier: { api: refused } } },
})

/** A report of a service of two policies that has been up for an hour. */
export const LIVE: LiveReport = {
  service: { version: '1.2.3', startedAtMs: START_MS, nowMs: START_MS + 3_600_000, reloads: 0, reloadError: null },
  store: { kind: 'redis', place: '127.0.0.1:6379', state: 'healthy', forMs: 3_600_000, error: null },
  policies: [
    {
      name: 'api',
      tiers: [
        {
          name: 'api',
          kind: 'sliding-window',
          limit: 100,
          parameters: {},
          isShadow: false,
          isPrefetched: false,
          refused: 40,
          near: 3,
        },
      ],
      allowed: 1_200,
      refused: 40,
    },
    {
      name: 'messages',
      tiers: [
        {
          name: 'user',
          kind: 'fixed-window',
          limit: 10,
          parameters: {},
          isShadow: false,
          isPrefetched: false,
          refused: 0,
          near: 0,
        },
        {
          name: 'ip',
          kind: 'token-bucket',
          limit: 10,
          parameters: {},
          isShadow: false,
          isPrefetched: false,
          refused: 7,
          near: 0,
        },
      ],
      allowed: 5,
      refused: 7,
    },
  ],
  seconds: [second(START_MS + 3_598_000, 100, 0), second(START_MS + 3_599_000, 30, 10)],
  keysSinceMs: START_MS,
  busiest: [
    { policy: 'api', key: 'user:42', allowed: 900, refused: 10, error: 0 },
    { policy: 'messages', key: 'user=42, ip=203.0.113.7', allowed: 5, refused: 7, error: 0 },
  ],
  mostRefused: [{ policy: 'api', key: 'user:7', allowed: 1, refused: 30, error: 0 }],
  outages: [],
}
