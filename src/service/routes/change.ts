import type { Decision } from '../../core/decision.ts'
import type { Amounts, BlockOptions, CostOptions } from '../../limiter/limiter.ts'
import { jsonAnswer } from '../answer.ts'
import { type Call, readCall, type Said } from '../call.ts'
import { decisionJson } from '../decision-json.ts'
import type { Access, Desk, PostRoute, Routes } from '../route.ts'

type Ask = (call: Call, said: Said) => Promise<Decision>

/** Looks at a key, or changes what is known of it. */
export function changeRoutes(desk: Desk): Routes {
  const route = (others: readonly string[], ask: Ask, access: Access = 'token'): PostRoute => ({
    method: 'POST',
    access,
    answer: async (said) => jsonAnswer(decisionJson(await ask(readCall(desk.policies, said, others), said))),
  })
  return {
    '/v1/peek': route(['cost'], ({ limiter, key }, said) => limiter.peek(key, costOf(said)), 'local'),
    '/v1/give-back': route(['amount'], ({ limiter, key }, said) => limiter.giveBack(key, amountOf(said))),
    '/v1/charge': route(['amount'], ({ limiter, key }, said) => limiter.charge(key, amountOf(said))),
    '/v1/block': route(['blockMs', 'replace'], ({ limiter, key }, said) => {
      return limiter.block(key, said.blockMs as number, replaceOf(said))
    }),
    '/v1/unblock': route([], ({ limiter, key }) => limiter.unblock(key)),
    '/v1/reset': route([], ({ limiter, key }) => limiter.reset(key)),
  }
}

// As they were said: the limiter checks them.
function costOf({ cost }: Said): CostOptions<string> {
  return cost === undefined ? {} : { cost: cost as Amounts<string> }
}

function replaceOf({ replace }: Said): BlockOptions {
  return replace === undefined ? {} : { replace: replace as boolean }
}

function amountOf({ amount }: Said): Amounts<string> | undefined {
  return amount as Amounts<string> | undefined
}
