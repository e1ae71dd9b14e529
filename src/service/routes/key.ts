import { formatKey } from '../../observe/format-key.ts'
import type { LiveBoard } from '../../observe/live-board.ts'
import { createJsonResponse } from '../server/response.ts'
import type { Routes } from '../server/route.ts'
import { readCall } from './call.ts'
import { composeDecisionJson } from './decision-json.ts'
import type { ServiceContext } from './service-context.ts'

/** Says what a request of a key would get now, and the key's last refusals. Takes nothing. */
export function createKeyRoutes({ policies }: ServiceContext, board: Pick<LiveBoard, 'listRefusals'>): Routes {
  return {
    '/v1/key': {
      method: 'POST',
      access: 'local',
      handle: async (body) => {
        const { limiter, key } = readCall(policies, body, [])
        const decision = composeDecisionJson(await limiter.peek(key))
        const refusals = board.listRefusals(limiter.name, formatKey(key, Object.keys(limiter.rules)))
        return createJsonResponse({ decision, refusals })
      },
    },
  }
}
