import type { Answer } from './answer.ts'
import type { Said } from './call.ts'
import type { PoliciesInForce } from './policies-in-force.ts'

/**
 * Who may ask. `'local'`, for what shows keys or policies: anybody where only this machine can ask and no proxy is in front, otherwise
 * who has the token.
 */
export type Access = 'open' | 'local' | 'token'

/** What answers need of the service. */
export interface Desk {
  readonly policies: PoliciesInForce
  /** Is told of what nobody expected. */
  onError(error: unknown): void
}

/** Answers a question that has no body. */
export interface GetRoute {
  readonly method: 'GET'
  readonly access: Access
  answer(): Answer | Promise<Answer>
}

/** Answers what the body of a request says. */
export interface PostRoute {
  readonly method: 'POST'
  readonly access: Access
  answer(said: Said): Promise<Answer>
}

/** Routes by their paths. */
export type Routes = Readonly<Record<string, GetRoute | PostRoute>>
