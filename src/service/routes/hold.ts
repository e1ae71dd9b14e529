import type { Amounts, ReserveOptions } from '../../limiter/options.ts'
import { createJsonResponse } from '../server/response.ts'
import type { Routes } from '../server/route.ts'
import { readCall, readHold } from './call.ts'
import { composeDecisionJson } from './decision-json.ts'
import type { ServiceContext } from './service-context.ts'

/** Takes for a time. What ends a hold needs nothing but its token, on whatever instance of the service. */
export function createHoldRoutes({ policies }: ServiceContext): Routes {
  return {
    '/v1/reserve': {
      method: 'POST',
      access: 'token',
      handle: async (body) => {
        const { limiter, key } = readCall(policies, body, ['estimate', 'expiresIn'])
        const { policy: _, key: __, ...options } = body
        const { decision, token } = await limiter.reserve(key, options as unknown as ReserveOptions<string>)
        return createJsonResponse({ decision: composeDecisionJson(decision), reservation: token ?? null })
      },
    },
    '/v1/settle': {
      method: 'POST',
      access: 'token',
      handle: async (body) => {
        const hold = readHold(policies, body, ['used'])
        return createJsonResponse(composeDecisionJson(await hold.settle(body.used as Amounts<string>)))
      },
    },
    '/v1/cancel': {
      method: 'POST',
      access: 'token',
      handle: async (body) => createJsonResponse(composeDecisionJson(await readHold(policies, body, []).cancel())),
    },
  }
}
