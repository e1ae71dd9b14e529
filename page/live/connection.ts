import type { LiveReport } from '../../src/observe/live-report.ts'
import type { ServiceReply } from './service-client.ts'

/** How the page stands with the service. The last report stays to be looked at while there is no newer one. */
export interface Connection {
  readonly phase: 'connecting' | 'live' | 'lost' | 'locked'
  readonly report: LiveReport | undefined
  /** Why it is lost. */
  readonly why: string
  /** Questions in a row that were not answered. */
  readonly failures: number
}

/** Before the first answer. */
export const CONNECTING: Connection = { phase: 'connecting', report: undefined, why: '', failures: 0 }

/** The connection after one more answer. */
export function afterAnswer({ report, failures }: Connection, answer: ServiceReply<LiveReport>): Connection {
  if (answer.kind === 'told') return { phase: 'live', report: answer.value, why: '', failures: 0 }
  if (answer.kind === 'locked') return { phase: 'locked', report, why: '', failures: 0 }
  return { phase: 'lost', report, why: answer.why, failures: failures + 1 }
}

/** How long to wait before the next question: a second, and longer after each failure. Never when only a token helps. */
export function waitMs({ phase, failures }: Connection): number {
  return phase === 'locked'
    ? Number.POSITIVE_INFINITY
    : Math.min(EVERY_MS * 2 ** Math.max(0, failures - 1), MOST_WAIT_MS)
}

const EVERY_MS = 1_000
const MOST_WAIT_MS = 4_000
