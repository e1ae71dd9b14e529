import type { NextFunction, Request, RequestHandler, Response } from 'express'
import type { Decision } from '../../core/decision.ts'
import { createGate } from '../gate/gate.ts'
import type { GateOptions } from '../gate/options.ts'
import type { Passage } from '../gate/passage.ts'
import type { Reader } from '../gate/reader.ts'
import { headerOf, refuse, startAnswer } from '../node/exchange.ts'

declare global {
  namespace Express {
    interface Request {
      /** What the last limiter in front of this handler has decided. */
      rateLimit?: Decision
    }
  }
}

/** Options of `rateLimit` for Express. */
export interface ExpressOptions<Tier extends string = never> extends GateOptions<Request, Tier> {
  /** Answers a refused request instead of the problem that says so. The headers are set already. */
  readonly onRefused?: (request: Request, response: Response, next: NextFunction, decision: Decision) => unknown
}

const reader: Reader<Request> = {
  method: (request) => request.method,
  header: headerOf,
  address: (request) => request.ip,
  trust(request) {
    const setting = request.app.get('trust proxy') as unknown
    if (setting === true) return 'everybody'
    return setting === false || setting === undefined ? 'nobody' : 'some'
  },
  // Express changes the prototype of every request, and V8 then has to look up anew all that is put on it: not so on its raw headers.
  identity: (request) => request.rawHeaders ?? request,
}

/**
 * A limiter as middleware of Express 4 and 5, for the whole application, `app.use(rateLimit({ limiter }))`, or for one route,
 * `app.get('/messages', rateLimit({ limiter, key }), getMessages)`. The decision is in `request.rateLimit`. What the limiter could
 * not do goes to `next(error)`.
 */
export function rateLimit<Tier extends string = never>(options: ExpressOptions<Tier>): RequestHandler {
  const gate = createGate('rateLimit()', options, reader, ['onRefused'])
  const { onRefused } = options
  const pass = (request: Request, response: Response, next: NextFunction, passage: Passage): unknown => {
    const { decision, refusal } = passage
    if (decision !== undefined) request.rateLimit = decision
    startAnswer(response, passage)
    if (refusal === undefined) return next()
    if (decision === undefined || onRefused === undefined) return refuse(response, refusal)
    return onRefused(request, response, next, decision)
  }
  return (request, response, next) => {
    try {
      const passing = gate(request)
      const passed =
        passing instanceof Promise
          ? passing.then((passage) => pass(request, response, next, passage))
          : pass(request, response, next, passing)
      // What a later handler throws is Express' own affair, and does not come back here.
      if (passed !== undefined) Promise.resolve(passed).catch(next)
    } catch (error) {
      next(error)
    }
  }
}
