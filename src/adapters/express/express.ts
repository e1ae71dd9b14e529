import type { NextFunction, Request, RequestHandler, Response } from 'express'
import type { Decision } from '../../core/decision.ts'
import { createMiddleware, type MiddlewareResult } from '../middleware/middleware.ts'
import type { MiddlewareOptions } from '../middleware/options.ts'
import type { RequestAccessor } from '../middleware/request-accessor.ts'
import { readHeader, sendRefusal, startResponse } from '../node/exchange.ts'
import { keepDecision } from './kept-decision.ts'
import { resolveExpressTrust } from './trust.ts'

declare global {
  namespace Express {
    interface Request {
      /** The decision of the last limiter in front of this handler. */
      rateLimit?: Decision
    }
  }
}

/** Options of `rateLimit` for Express. */
export interface ExpressOptions<Tier extends string = never> extends MiddlewareOptions<Request, Tier> {
  /** Answers a refused request instead of the problem that says so. The headers are set already. */
  readonly onRefused?: (request: Request, response: Response, next: NextFunction, decision: Decision) => unknown
}

const accessor: RequestAccessor<Request> = {
  method: (request) => request.method,
  header: readHeader,
  clientAddress: (request) => request.ip,
  trustsProxies: resolveExpressTrust,
  // Express changes the prototype of every request, which makes properties that are set on it slow: those of its raw headers are not.
  identity: (request) => request.rawHeaders ?? request,
}

/**
 * A limiter as middleware of Express 4 and 5, for the whole application, `app.use(rateLimit({ limiter }))`, or for one route,
 * `app.get('/messages', rateLimit({ limiter, key }), getMessages)`. The decision is in `request.rateLimit`. Errors of the limiter go
 * to `next(error)`.
 */
export function rateLimit<Tier extends string = never>(options: ExpressOptions<Tier>): RequestHandler {
  const middleware = createMiddleware('rateLimit()', options, accessor)
  const { onRefused } = options
  const respond = (request: Request, response: Response, next: NextFunction, result: MiddlewareResult): void => {
    const { decision, refusal } = result
    if (decision !== undefined) keepDecision(request, decision)
    startResponse(response, result)
    if (refusal === undefined) next()
    else if (decision === undefined || onRefused === undefined) sendRefusal(response, refusal)
    else Promise.resolve(onRefused(request, response, next, decision)).catch(next)
  }
  return (request, response, next) => {
    try {
      const result = middleware(request)
      if (!(result instanceof Promise)) respond(request, response, next, result)
      else result.then((made) => respond(request, response, next, made)).catch(next)
    } catch (error) {
      next(error)
    }
  }
}
