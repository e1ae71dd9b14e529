import { startTimer } from '../../core/clock.ts'
import type { Decision } from '../../core/decision.ts'
import type { ServiceResponse } from '../server/response.ts'
import type { HeadRoute } from '../server/route.ts'
import { readCheckRequest } from './check-request.ts'
import { type CheckWriter, createCheckWriter } from './check-response.ts'
import type { PolicyInForce, ServiceContext } from './service-context.ts'

/**
 * Decides for a proxy whether a request may pass: by the status, which is all that proxies look at. In memory it makes no promise: a proxy
 * asks before every request that it serves.
 */
export function createCheckRoute({ policies }: ServiceContext): HeadRoute {
  const writers = new WeakMap<PolicyInForce, CheckWriter>()
  return {
    prefix: '/v1/check/',
    handle(request, rest) {
      const { policy, key, cost, idempotencyKey, isForbidding } = readCheckRequest(policies, request, rest)
      const { limiter } = policy
      let write = writers.get(policy)
      if (write === undefined) {
        write = createCheckWriter(limiter)
        writers.set(policy, write)
      }
      const decision = limiter.run(limiter.parse(key, cost, idempotencyKey), key, cost)
      if (decision instanceof Promise) return decision.then((made) => respond(made, write, isForbidding))
      return respond(decision, write, isForbidding)
    },
  }
}

/** Lets a request of a shaped queue pass when it is its turn. */
function respond(
  decision: Decision,
  write: CheckWriter,
  isForbidding: boolean,
): ServiceResponse | Promise<ServiceResponse> {
  const response = write(decision, isForbidding)
  const { delayMs } = decision
  return delayMs === 0 ? response : new Promise((resolve) => startTimer(undefined, delayMs, () => resolve(response)))
}
