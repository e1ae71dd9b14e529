import { IncomingMessage } from 'node:http'
import type { Request } from 'express'
import type { Decision } from '../../core/decision.ts'

// The same in all copies of this package, such as the CommonJS one.
const KEPT: unique symbol = Symbol.for('sluice decision')

type Keeper = string[] & { [KEPT]?: Decision | undefined }

/** The prototypes of requests that have the property already. One, but for programs with several Express. */
let known: object | null = null

/**
 * Keeps a decision as `request.rateLimit`. Express gives every request another prototype, after which a property that is set on the
 * request makes a hidden class of its own, which takes longer than the decision. So it is read by the prototype, and kept in the array
 * of raw headers, which no program changes.
 */
export function keepDecision(request: Request, decision: Decision): void {
  const prototype = Object.getPrototypeOf(request)
  const keeper: Keeper | undefined = request.rawHeaders
  if (prototype === known && keeper !== undefined) keeper[KEPT] = decision
  else {
    if (defineProperty(prototype)) known = prototype
    request.rateLimit = decision
  }
}

/** Defines the property on the prototype that all requests of Express have. Answers false for requests of anything else. */
function defineProperty(prototype: object | null): boolean {
  let own = prototype
  while (own !== null && Object.getPrototypeOf(own) !== IncomingMessage.prototype) own = Object.getPrototypeOf(own)
  if (own === null) return false
  if (!Object.hasOwn(own, 'rateLimit')) {
    Object.defineProperty(own, 'rateLimit', {
      configurable: true,
      enumerable: true,
      get(this: { readonly rawHeaders?: Keeper }) {
        return this.rawHeaders?.[KEPT]
      },
      set(this: { readonly rawHeaders?: Keeper }, value: Decision | undefined) {
        if (this.rawHeaders !== undefined) this.rawHeaders[KEPT] = value
        // A request that a test has made up may have no headers.
        else Object.defineProperty(this, 'rateLimit', { value, configurable: true, enumerable: true, writable: true })
      },
    })
  }
  return true
}
