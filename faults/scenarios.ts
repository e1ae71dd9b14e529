import type { Scenario } from './scenario.ts'
import { ownTime, serverTime } from './scenarios/clocks.ts'
import { cluster, sentinel } from './scenarios/failovers.ts'
import { flushAll, full, scriptFlush } from './scenarios/memory.ts'
import { latency, lostAndDecided, lostReplies } from './scenarios/network.ts'
import { policies } from './scenarios/policies.ts'
import {
  prefetchDelayed,
  prefetchFailover,
  prefetchFlushed,
  prefetchKilled,
  prefetchOutage,
  prefetchStopped,
} from './scenarios/prefetch.ts'
import { absent, absentTold, inFlight, killed, told, twice } from './scenarios/restarts.ts'
import { halfOpen, lostConnection, mute, stopped } from './scenarios/silence.ts'

/** All of them, in the order of the table, by the files of tests that run at the same time. */
export const scenarios: Readonly<
  Record<'restarts' | 'silence' | 'failovers' | 'failing' | 'prefetch', readonly Scenario[]>
> = {
  restarts: [killed, told, twice, inFlight, absent, absentTold],
  silence: [stopped, halfOpen, lostConnection, mute, policies],
  failovers: [sentinel, cluster, latency, lostReplies, lostAndDecided],
  failing: [scriptFlush, flushAll, full, serverTime, ownTime],
  prefetch: [prefetchKilled, prefetchStopped, prefetchDelayed, prefetchFlushed, prefetchOutage, prefetchFailover],
}
