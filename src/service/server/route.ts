import type { IncomingMessage } from 'node:http'
import type { JsonBody } from './read-json.ts'
import type { ServiceResponse } from './response.ts'

/**
 * Who may ask. `'local'`, for what shows keys or policies: every client where only this machine can ask and no proxy is in front,
 * otherwise clients that have the token.
 */
export type Access = 'open' | 'local' | 'token'

/** Handles a request that has no body. */
export interface GetRoute {
  readonly method: 'GET'
  readonly access: Access
  handle(): ServiceResponse | Promise<ServiceResponse>
}

/** Handles a request by its JSON body. */
export interface PostRoute {
  readonly method: 'POST'
  readonly access: Access
  handle(body: JsonBody): ServiceResponse | Promise<ServiceResponse>
}

/** Handles requests by their heads: any method, and the body stays unread. Only clients that have the token may ask. */
export interface HeadRoute {
  /** Every path that begins so is the route's. */
  readonly prefix: string
  /** @param rest what follows the prefix, with the query. */
  handle(request: IncomingMessage, rest: string): ServiceResponse | Promise<ServiceResponse>
}

/** Routes by their paths. */
export type Routes = Readonly<Record<string, GetRoute | PostRoute>>
