import { knownOptions, show } from '../../core/check.ts'
import type { Decision } from '../../core/decision.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { PendingDecision } from '../../limiter/compose-decision.ts'
import type { JsonBody } from '../server/read-json.ts'
import { RequestError } from '../server/request-error.ts'
import { composeErrorBody, createJsonResponse, type ServiceResponse } from '../server/response.ts'
import type { Routes } from '../server/route.ts'
import { type NamedCall, readCall } from './call.ts'
import { composeDecisionJson } from './decision-json.ts'
import type { ServiceContext } from './service-context.ts'

/** The most requests in one batch. */
const MOST_REQUESTS = 1_000

/** Takes what passes: one request, or many at once. */
export function consumeRoutes(context: ServiceContext): Routes {
  return {
    '/v1/consume': {
      method: 'POST',
      access: 'token',
      handle: (body) => ('requests' in body ? consumeAll(context, body) : consumeOne(context, body)),
    },
  }
}

// Not an async function: a store that decides at once needs no promise.
function consumeOne(context: ServiceContext, body: JsonBody): ServiceResponse | Promise<ServiceResponse> {
  const { limiter, key, call, cost } = parseRequest(context, body)
  const decision = limiter.run(call, key, cost)
  return decision instanceof Promise ? decision.then(respond) : respond(decision)
}

function respond(decision: Decision): ServiceResponse {
  return createJsonResponse(composeDecisionJson(decision))
}

/** Checks all of them before the first is counted. What a store could not decide has its error in the place of its decision. */
async function consumeAll(context: ServiceContext, body: JsonBody): Promise<ServiceResponse> {
  knownOptions('a batch', body, ['requests'], 'INVALID_ARGUMENT')
  const { requests } = body
  if (!Array.isArray(requests) || requests.length < 1 || requests.length > MOST_REQUESTS) {
    const got = Array.isArray(requests) ? `${requests.length} of them` : show(requests)
    throw new LimiterError('INVALID_ARGUMENT', `requests must be a list of 1 to ${MOST_REQUESTS} requests, got ${got}`)
  }
  const parsed = requests.map((request, index) => {
    try {
      return parseRequest(context, request)
    } catch (error) {
      throw inBatch(error, index)
    }
  })
  // All in one turn: a store that decides many at once gets them so, in their order.
  const outcomes = await Promise.allSettled(parsed.map(runRequest))
  const decisions = outcomes.map((outcome) => {
    return outcome.status === 'fulfilled'
      ? composeDecisionJson(outcome.value)
      : composeErrorBody(outcome.reason, context.onError)
  })
  return createJsonResponse({ decisions })
}

/** A request that was checked whole, and is still to be counted. */
interface ParsedRequest extends NamedCall {
  readonly call: PendingDecision
  readonly cost: unknown
}

function parseRequest({ policies }: ServiceContext, body: JsonBody): ParsedRequest {
  const { limiter, key } = readCall(policies, body, ['cost', 'idempotencyKey'])
  const { cost, idempotencyKey } = body
  return { limiter, key, call: limiter.parse(key, cost, idempotencyKey), cost }
}

// An async function: what one request of a batch throws is its own answer, and the others are counted.
async function runRequest({ limiter, key, call, cost }: ParsedRequest): Promise<Decision> {
  return limiter.run(call, key, cost)
}

/** A batch is one request: whatever is wrong with a part of it, it is a bad request. */
function inBatch(error: unknown, index: number): unknown {
  const { message } = error as Error
  const status = error instanceof RequestError ? { status: 400 } : {}
  return Object.assign(error as Error, { message: `requests[${index}]: ${message}`, ...status })
}
