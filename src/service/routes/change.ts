import type { Decision } from '../../core/decision.ts'
import type { Duration } from '../../core/duration.ts'
import type { Amounts, BlockOptions, CostOptions } from '../../limiter/options.ts'
import type { JsonBody } from '../server/read-json.ts'
import { createJsonResponse } from '../server/response.ts'
import type { Access, PostRoute, Routes } from '../server/route.ts'
import { type NamedCall, readCall } from './call.ts'
import { composeDecisionJson } from './decision-json.ts'
import type { ServiceContext } from './service-context.ts'

type KeyAction = (call: NamedCall, body: JsonBody) => Promise<Decision>

/** Looks at a key, or changes what is known of it. */
export function createChangeRoutes({ policies }: ServiceContext): Routes {
  const route = (others: readonly string[], ask: KeyAction, access: Access = 'token'): PostRoute => ({
    method: 'POST',
    access,
    handle: async (body) => createJsonResponse(composeDecisionJson(await ask(readCall(policies, body, others), body))),
  })
  return {
    '/v1/peek': route(['cost'], ({ limiter, key }, body) => limiter.peek(key, readCost(body)), 'local'),
    '/v1/refund': route(['amount'], ({ limiter, key }, body) => limiter.refund(key, readAmount(body))),
    '/v1/charge': route(['amount'], ({ limiter, key }, body) => limiter.charge(key, readAmount(body))),
    '/v1/block': route(['blockFor', 'replace'], ({ limiter, key }, body) => {
      return limiter.block(key, body.blockFor as Duration, readReplace(body))
    }),
    '/v1/unblock': route([], ({ limiter, key }) => limiter.unblock(key)),
    '/v1/reset': route([], ({ limiter, key }) => limiter.reset(key)),
  }
}

// As the client sent them: the limiter checks them.
function readCost({ cost }: JsonBody): CostOptions<string> {
  return cost === undefined ? {} : { cost: cost as Amounts<string> }
}

function readReplace({ replace }: JsonBody): BlockOptions {
  return replace === undefined ? {} : { replace: replace as boolean }
}

function readAmount({ amount }: JsonBody): Amounts<string> | undefined {
  return amount as Amounts<string> | undefined
}
