import { knownOptions, show } from '../../core/check.ts'
import type { Decision } from '../../core/decision.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import { demandId } from '../../limiter/call-options.ts'
import type { ConsumeOptions } from '../../limiter/limiter.ts'
import { type AmountRule, amountsOf } from '../../limiter/targets.ts'
import { type Answer, jsonAnswer, toldError } from '../answer.ts'
import { readCall, type Said } from '../call.ts'
import { decisionJson } from '../decision-json.ts'
import { RequestError } from '../request-error.ts'
import type { Desk, Routes } from '../route.ts'

/** The most requests in one batch. */
const MOST_REQUESTS = 1_000
const COST: AmountRule = { what: 'cost', least: 1, otherwise: 1 }

/** Takes what passes: one request, or many at once. */
export function consumeRoutes(desk: Desk): Routes {
  return {
    '/v1/consume': {
      method: 'POST',
      access: 'token',
      answer: async (said) => {
        if ('requests' in said) return consumeAll(desk, said)
        return jsonAnswer(decisionJson(await checked(desk, said)()))
      },
    },
  }
}

/** Checks all of them before the first is counted. What a store could not decide has its error in the place of its decision. */
async function consumeAll(desk: Desk, said: Said): Promise<Answer> {
  knownOptions('a batch', said, ['requests'], 'INVALID_ARGUMENT')
  const { requests } = said
  if (!Array.isArray(requests) || requests.length < 1 || requests.length > MOST_REQUESTS) {
    const got = Array.isArray(requests) ? `${requests.length} of them` : show(requests)
    throw new LimiterError('INVALID_ARGUMENT', `requests must be a list of 1 to ${MOST_REQUESTS} requests, got ${got}`)
  }
  const consumers = requests.map((request, index) => {
    try {
      return checked(desk, request)
    } catch (error) {
      throw inBatch(error, index)
    }
  })
  // All in one turn: a store that decides many at once gets them so, in their order.
  const outcomes = await Promise.allSettled(consumers.map((consume) => consume()))
  const decisions = outcomes.map((outcome) => {
    return outcome.status === 'fulfilled' ? decisionJson(outcome.value) : toldError(outcome.reason, desk.onError)
  })
  return jsonAnswer({ decisions })
}

/** Checks all that a limiter would, and returns what is left to do. */
function checked(desk: Desk, said: Said): () => Promise<Decision> {
  const { limiter, key, tiers, targets } = readCall(desk.policies, said, ['cost', 'id'])
  const { policy: _, key: __, ...options } = said
  amountsOf(tiers, targets, said.cost, COST)
  if (said.id !== undefined) demandId(said.id)
  return () => limiter.consume(key, options as ConsumeOptions<string>)
}

/** A batch is one request: whatever is wrong with a part of it, it is a bad request. */
function inBatch(error: unknown, index: number): unknown {
  const { message } = error as Error
  const status = error instanceof RequestError ? { status: 400 } : {}
  return Object.assign(error as Error, { message: `requests[${index}]: ${message}`, ...status })
}
