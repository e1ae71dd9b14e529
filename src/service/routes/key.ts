import type { LimitKey } from '../../core/operation.ts'
import type { Key } from '../../limiter/options.ts'
import type { TieredLimiter } from '../../limiter/tiered-limiter.ts'
import { formatKey } from '../../observe/format-key.ts'
import type { LiveBoard } from '../../observe/live-board.ts'
import type { LiveGrants } from '../../observe/live-report.ts'
import { createJsonResponse } from '../server/response.ts'
import type { Routes } from '../server/route.ts'
import { readCall } from './call.ts'
import { composeDecisionJson } from './decision-json.ts'
import type { ServiceContext } from './service-context.ts'

/** Reads the live grants of some keys. Takes nothing. */
export type ReadGrants = (places: readonly LimitKey[]) => Promise<readonly LiveGrants[]>

/** Says what a request of a key would get now, what is out of it, and the key's last refusals. Takes nothing. */
export function createKeyRoutes(
  { policies, onError }: ServiceContext,
  board: Pick<LiveBoard, 'listRefusals'>,
  readGrants: ReadGrants = async () => [],
): Routes {
  const listGrants = async (limiter: TieredLimiter, key: Key<string>): Promise<readonly LiveGrants[] | null> => {
    const places = limiter.parseKey(key).filter(({ limit }) => limit.prefetch !== undefined)
    if (places.length === 0) return []
    try {
      return await readGrants(places)
    } catch (error) {
      onError(error)
      return null
    }
  }
  return {
    '/v1/key': {
      method: 'POST',
      access: 'local',
      handle: async (body) => {
        const { limiter, key } = readCall(policies, body, [])
        const decision = await limiter.peek(key)
        // A store that has not answered this will not answer more.
        const grants = decision.decidedBy === 'fallback' ? null : await listGrants(limiter, key)
        const refusals = board.listRefusals(limiter.name, formatKey(key, Object.keys(limiter.rules)))
        return createJsonResponse({ decision: composeDecisionJson(decision), grants, refusals })
      },
    },
  }
}
