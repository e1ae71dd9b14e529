import type { FastifyReply, FastifyRequest } from 'fastify'
import { PROBLEM_JSON } from '../../http/refusal.ts'
import { combineField } from '../../http/set-header-fields.ts'
import { createGate } from '../gate/gate.ts'
import type { Reader } from '../gate/reader.ts'
import { awaitAnswer, headerOf } from '../node/exchange.ts'
import type { FastifyOptions } from './options.ts'
import { trustOf } from './trust.ts'

/** A limiter as a hook of Fastify, for `onRequest`, `preParsing`, `preValidation` or `preHandler`. */
export type LimitHook = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

/** The limiter as a hook. Wrong options throw here. */
export function limitHook<Tier extends string>(what: string, options: FastifyOptions<Tier>): LimitHook {
  const gate = createGate(what, options, reader, ['onRefused'])
  const { onRefused } = options
  return async (request, reply) => {
    const passing = gate(request)
    const passage = passing instanceof Promise ? await passing : passing
    const { decision, lines, refusal } = passage
    if (decision !== undefined) request.rateLimit = decision
    for (const line of lines) reply.header(line.name, combineField(line, reply.getHeader(line.name)))
    awaitAnswer(reply.raw, passage)
    if (refusal === undefined) return undefined
    reply.code(refusal.status)
    if (decision === undefined || onRefused === undefined) {
      // As text: a response schema of the route would leave parts of it out.
      reply.type(PROBLEM_JSON).send(JSON.stringify(refusal.problem))
    } else {
      const body = await onRefused(request, reply, decision)
      if (body !== undefined) reply.send(body)
    }
    // Fastify waits for a reply that a hook returns, and goes no further.
    return reply
  }
}

const reader: Reader<FastifyRequest> = {
  method: (request) => request.method,
  header: headerOf,
  address: (request) => request.ip,
  trust: trustOf,
}
