import type { Amounts, ReserveOptions } from '../../limiter/limiter.ts'
import { jsonAnswer } from '../answer.ts'
import { readCall, readHold } from '../call.ts'
import { decisionJson } from '../decision-json.ts'
import type { Desk, Routes } from '../route.ts'

/** Takes for a time. What ends a hold needs nothing but its token, on whatever instance of the service. */
export function holdRoutes({ policies }: Desk): Routes {
  return {
    '/v1/reserve': {
      method: 'POST',
      access: 'token',
      answer: async (said) => {
        const { limiter, key } = readCall(policies, said, ['estimate', 'holdMs'])
        const { policy: _, key: __, ...options } = said
        const { decision, token } = await limiter.reserve(key, options as unknown as ReserveOptions<string>)
        return jsonAnswer({ decision: decisionJson(decision), hold: token ?? null })
      },
    },
    '/v1/settle': {
      method: 'POST',
      access: 'token',
      answer: async (said) => {
        const hold = readHold(policies, said, ['used'])
        return jsonAnswer(decisionJson(await hold.settle(said.used as Amounts<string>)))
      },
    },
    '/v1/cancel': {
      method: 'POST',
      access: 'token',
      answer: async (said) => jsonAnswer(decisionJson(await readHold(policies, said, []).cancel())),
    },
  }
}
