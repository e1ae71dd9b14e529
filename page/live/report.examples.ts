import type { LiveReport, LiveSecond } from '../../src/observe/live-report.ts'

/** A report in which nothing has happened, but for what is given. */
export function exampleReport(given: Partial<LiveReport>): LiveReport {
  return {
    service: { version: '1.0.0', startedAtMs: 0, nowMs: 600_000, reloads: 0, reloadError: null },
    store: { kind: 'memory', place: 'this process', state: 'healthy', forMs: 600_000, error: null },
    policies: [],
    seconds: [],
    keysSinceMs: 500_000,
    busiest: [],
    mostRefused: [],
    outages: [],
    ...given,
  }
}

/** A second in which nothing has happened, but for what is given. */
export function exampleSecond(given: Partial<LiveSecond>): LiveSecond {
  return {
    atMs: 0,
    allowed: 0,
    refused: 0,
    wouldRefuse: 0,
    decidedBy: {},
    p50Ms: null,
    p99Ms: null,
    byPolicy: {},
    ...given,
  }
}
