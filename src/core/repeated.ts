import type { Verdict } from './decision.ts'
import type { Request } from './request.ts'

/**
 * What a request with an id is told that has passed, now or before. `nextAfterMs` only if this request and the first with its id have
 * asked for it. A zero is left out: a store need not know whether the first has asked.
 */
export function toldById(verdicts: readonly Verdict[], orders: readonly { readonly request: Request }[]): Verdict[] {
  return verdicts.map((verdict, index) => {
    const isAsked = orders[index]?.request.ahead === true
    return verdict.nextAfterMs === undefined || (isAsked && verdict.nextAfterMs !== 0)
      ? verdict
      : { ...verdict, nextAfterMs: undefined }
  })
}
