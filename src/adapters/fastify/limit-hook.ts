import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import { combineField } from '../../http/header-fields.ts'
import { lowerCase } from '../../http/lower-case.ts'
import { encodeRefusal } from '../../http/refusal.ts'
import { createMiddleware, type MiddlewareResult } from '../middleware/middleware.ts'
import type { RequestAccessor } from '../middleware/request-accessor.ts'
import { finishAfter, readHeader } from '../node/exchange.ts'
import type { FastifyOptions } from './options.ts'
import { resolveFastifyTrust } from './trust.ts'

/** A limiter as a hook of Fastify, for `onRequest`, `preParsing`, `preValidation` or `preHandler`. */
export type LimitHook = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

/** Makes the hook. Wrong options throw here. */
export function createLimitHook<Tier extends string>(caller: string, options: FastifyOptions<Tier>): LimitHook {
  const middleware = createMiddleware(caller, options, accessor)
  const { onRefused } = options
  const hook = (request: FastifyRequest, reply: FastifyReply, payload?: unknown, last: unknown = payload): unknown => {
    const result = middleware(request)
    // Fastify hands over a callback, behind the payload where the stage has one: that saves the promises of most requests.
    const done = last as HookHandlerDoneFunction | undefined
    if (done === undefined || result instanceof Promise || result.refusal !== undefined) {
      return answer(request, reply, result)
    }
    startReply(request, reply, result)
    return done()
  }
  const answer = async (
    request: FastifyRequest,
    reply: FastifyReply,
    given: MiddlewareResult | Promise<MiddlewareResult>,
  ): Promise<unknown> => {
    const result = await given
    const { decision, refusal } = result
    startReply(request, reply, result)
    if (refusal === undefined) return undefined
    reply.code(refusal.status)
    if (decision === undefined || onRefused === undefined) {
      const { contentType, body } = encodeRefusal(refusal)
      // As a text: a response schema of the route would remove parts of an object.
      reply.type(contentType).send(body)
    } else {
      const body = await onRefused(request, reply, decision)
      if (body !== undefined) reply.send(body)
    }
    // Fastify waits for a reply that a hook returns, and goes no further.
    return reply
  }
  return hook as LimitHook
}

function startReply(request: FastifyRequest, reply: FastifyReply, result: MiddlewareResult): void {
  const { decision, headers, finish } = result
  if (decision !== undefined) request.rateLimit = decision
  for (const field of headers) {
    const name = lowerCase(field.name)
    reply.header(name, combineField(field, reply.getHeader(name)))
  }
  if (finish !== undefined) finishAfter(reply.raw, finish)
}

const accessor: RequestAccessor<FastifyRequest> = {
  method: (request) => request.method,
  header: readHeader,
  clientAddress: (request) => request.ip,
  trustsProxies: resolveFastifyTrust,
}
