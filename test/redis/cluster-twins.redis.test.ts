import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import type { LimitResult } from '../../src/core/decision.ts'
import { memoryStore } from '../../src/stores/memory/memory-store.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { runs } from '../effort.ts'
import type { Action } from '../open-limit.ts'
import { redisClients } from '../redis-clients/redis-clients.ts'
import { starts, waits } from '../schedules.ts'
import { type SharedServers, useCluster } from '../servers/shared-servers.ts'
import {
  askTiers,
  calls,
  openTiers,
  type RandomCall,
  type RandomTier,
  tiers,
  traceOf,
  waitAfter,
  withoutGrants,
} from '../tier-twin.ts'

// The tiers of one decision lie in several slots, where no script reaches all of them.
let cluster: SharedServers['cluster']
let count = 0

beforeAll(async () => {
  // A node that is late on a busy machine must not count as gone.
  cluster = await useCluster()
})

describe.each(redisClients.filter(({ topology }) => topology === 'cluster'))(
  'tiers on a Cluster by $title',
  (entry) => {
    it('are decided as in memory on random schedules, with holds and ids', async ({ onTestFinished }) => {
      const opened = await entry.open({ cluster } as SharedServers)
      onTestFinished(opened.close)
      const onCluster = redisStore(opened.client)
      const property = fc.asyncProperty(comparable, calls(waits), starts, async (tierList, callList, startMs) => {
        const [memory, name, trace] = [memoryStore(), `twins ${count++}`, [] as string[]]
        const limits = { memory: openTiers(memory, name, tierList), cluster: openTiers(onCluster, name, tierList) }
        let nowMs = startMs
        for (const [turn, randomCall] of callList.entries()) {
          const call = comparableCall(withoutGrants(randomCall), turn)
          const expected = await askTiers(memory, limits.memory, tierList, call, nowMs)
          const seen = await askTiers(onCluster, limits.cluster, tierList, call, nowMs)
          trace.push(traceOf(tierList, call, nowMs))
          const pair = [seen, expected].map((verdicts) => withoutOpenWindows(tierList, call, verdicts))
          if (!isDeepStrictEqual(pair[0], pair[1])) expect(pair[0], trace.join('\n')).toEqual(pair[1])
          nowMs += waitAfter(call.wait, expected)
        }
      })
      await fc.assert(property, { numRuns: runs('long') })
    })
  },
)

// What is refunded leaves the window open that it had opened, and leaves a state counted by the rule that it was taken by.
const comparable = tiers(fc.constant(false)).filter((tierList) =>
  tierList.every(({ rules: [rule] }) => rule.parameters.anchor !== 'first-hit'),
)

function withoutOpenWindows(tierList: readonly RandomTier[], { asked }: RandomCall, verdicts: readonly LimitResult[]) {
  const present = tierList.filter((_, index) => index === 0 || asked[index]?.isPresent)
  return verdicts.map((verdict, index) =>
    present[index]?.rules[0].kind === 'fixed-window' ? { ...verdict, resetAfterMs: undefined } : verdict,
  )
}

/**
 * The call without what differs. Only the tier that refuses first blocks its key; an id belongs to the same tiers each time; no two
 * holds have the same id, as they never have; and a grant that goes back leaves the time of its end.
 */
function comparableCall(call: RandomCall, turn: number): RandomCall {
  const requestFor = (request: Action): Action => {
    const { type, holdId = 0 } = request
    if (type === 'consume') return { ...request, blockMs: 0 }
    if (type === 'settle' || type === 'extend') return { ...request, holdId: 1 + Math.abs(turn - holdId) }
    return type === 'reserve' ? { ...request, holdId: 1 + turn, blockMs: 0 } : request
  }
  const asked = call.asked.map((part) => ({
    ...part,
    isPresent: part.isPresent || call.id !== undefined,
    request: requestFor(part.request),
  }))
  return { ...call, asked }
}
