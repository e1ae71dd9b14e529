import type { ServerResponse } from 'node:http'
import type { ExecutionContext } from '@nestjs/common'
import { LimiterError } from '../../core/limiter-error.ts'
import { type HeaderField, setHeaderFields } from '../../http/header-fields.ts'
import { encodeRefusal, type Refusal } from '../../http/refusal.ts'
import type { MiddlewareResult } from '../middleware/middleware.ts'
import { finishAfter } from '../node/exchange.ts'
import { findRequest, readGraphqlContext } from './context.ts'

/** A response of Express, or a reply of Fastify. */
type Response = ServerResponse & {
  readonly raw?: ServerResponse
  header(name: string, value: string): unknown
  json(body: unknown): unknown
  send(body: unknown): unknown
}

type Value = ReturnType<ServerResponse['getHeader']>

/** The header fields of all limiters of one response. */
interface ResponseFields {
  /** The headers as they were before. */
  readonly before: Map<string, Value>
  /** The fields of each limiter, by its policy: the resolvers of one GraphQL request may ask the same limiter several times. */
  readonly byPolicy: Map<string, readonly HeaderField[]>
}

const fieldsOn = new WeakMap<Response, ResponseFields>()

/** Sets the headers of a result on the response to a context, and finishes the result when the response has ended. */
export async function startResponse(context: ExecutionContext, { headers, finish }: MiddlewareResult): Promise<void> {
  const response = findResponse(context)
  if (response !== undefined) {
    if (headers.length > 0) setFields(response, headers)
    if (finish !== undefined) finishAfter(response.raw ?? response, finish)
    return
  }
  if (finish === undefined) return
  await finish(undefined)
  const needed = 'count and concurrency() wait for the answer to an HTTP request'
  throw new LimiterError('INVALID_OPTION', `${needed}, and a context of type "${context.getType()}" has none`)
}

/** Sends the refusal where an exception filter, Nest's own among them, sends its problem. A filter may send any other body. */
export function sendAsProblem(context: ExecutionContext, refusal: Refusal): void {
  const response = context.getArgByIndex<Response>(1)
  const name = response.raw === undefined ? 'json' : 'send'
  const { [name]: sendOther, send } = response
  response[name] = (body) => {
    if (body !== refusal.problem) return sendOther.call(response, body)
    const encoded = encodeRefusal(refusal)
    // Not earlier: NestJS 11 replaces any type other than application/json.
    setHeader(response, 'Content-Type', encoded.contentType)
    return send.call(response, encoded.body)
  }
}

function findResponse(context: ExecutionContext): Response | undefined {
  if (context.getType() === 'http') return context.getArgByIndex(1)
  if (context.getType<string>() !== 'graphql') return undefined
  const { res, response, reply } = readGraphqlContext(context)
  return res ?? response ?? reply ?? (findRequest(context) as { res?: Response } | undefined)?.res
}

function setFields(response: Response, fields: readonly HeaderField[]): void {
  const known = fieldsOn.get(response) ?? { before: new Map(), byPolicy: new Map() }
  fieldsOn.set(response, known)
  const { before, byPolicy } = known
  byPolicy.set(fields[0]?.value as string, fields)
  const written = new Map<string, Value>()
  setHeaderFields(
    [...byPolicy.values()].flat(),
    (name) => {
      if (!before.has(name)) before.set(name, response.getHeader(name))
      return written.get(name) ?? before.get(name)
    },
    (name, value) => {
      written.set(name, value)
      setHeader(response, name, value)
    },
  )
}

function setHeader(response: Response, name: string, value: string): void {
  if (response.raw === undefined) response.setHeader(name, value)
  else response.header(name, value)
}
