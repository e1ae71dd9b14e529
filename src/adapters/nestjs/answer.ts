import type { ServerResponse } from 'node:http'
import type { ExecutionContext } from '@nestjs/common'
import { LimiterError } from '../../core/limiter-error.ts'
import type { HeaderField } from '../../http/header-fields.ts'
import { PROBLEM_JSON, type Problem } from '../../http/refusal.ts'
import { setHeaderFields } from '../../http/set-header-fields.ts'
import type { Passage } from '../gate/passage.ts'
import { awaitAnswer } from '../node/exchange.ts'
import { findRequest, graphqlContext } from './context.ts'

/** A response of Express, or a reply of Fastify. */
type Response = ServerResponse & {
  readonly raw?: ServerResponse
  header(name: string, value: string): unknown
  json(body: unknown): unknown
  send(body: unknown): unknown
}

type Value = ReturnType<ServerResponse['getHeader']>

/** What the limiters of one request have said so far. */
interface Said {
  /** The headers as they were before. */
  readonly before: Map<string, Value>
  /** The lines of each, by its policy: the resolvers of one GraphQL request may ask the same limiter several times. */
  readonly lines: Map<string, readonly HeaderField[]>
}

const saidOn = new WeakMap<Response, Said>()

/** Puts what a passage has to say on the answer to the request, and tells the passage when that is answered. */
export async function tellAnswer(context: ExecutionContext, passage: Passage): Promise<void> {
  const { lines, finish } = passage
  const response = findResponse(context)
  if (response !== undefined) {
    if (lines.length > 0) say(response, lines)
    return awaitAnswer(response.raw ?? response, passage)
  }
  if (finish === undefined) return
  await finish(undefined)
  const needed = 'countOnly and concurrency() wait for the answer to an HTTP request'
  throw new LimiterError('INVALID_OPTION', `${needed}, and a context of type "${context.getType()}" has none`)
}

/** Has the problem sent as what it is. An exception filter may answer with something else: then the type is its own affair. */
export function announceProblem(context: ExecutionContext, problem: Problem): void {
  const response = context.getArgByIndex<Response>(1)
  const isReply = response.raw !== undefined
  const name = isReply ? 'send' : 'json'
  const answer = response[name]
  // Not before it is sent: NestJS 11 takes any type other than application/json for a mistake, and replaces it.
  response[name] = (body) => {
    if (body === problem) headerSetter(response)('Content-Type', PROBLEM_JSON)
    return answer.call(response, body)
  }
}

function findResponse(context: ExecutionContext): Response | undefined {
  if (context.getType() === 'http') return context.getArgByIndex(1)
  if (context.getType<string>() !== 'graphql') return undefined
  const { res, response, reply } = graphqlContext(context)
  return res ?? response ?? reply ?? (findRequest(context) as { res?: Response } | undefined)?.res
}

function say(response: Response, lines: readonly HeaderField[]): void {
  let said = saidOn.get(response)
  if (said === undefined) {
    said = { before: new Map(), lines: new Map() }
    saidOn.set(response, said)
  }
  const { before } = said
  said.lines.set(lines[0]?.value as string, lines)
  const written = new Map<string, Value>()
  const set = headerSetter(response)
  setHeaderFields(
    [...said.lines.values()].flat(),
    (name) => {
      if (!before.has(name)) before.set(name, response.getHeader(name))
      return written.get(name) ?? before.get(name)
    },
    (name, value) => {
      written.set(name, value)
      set(name, value)
    },
  )
}

function headerSetter(response: Response): (name: string, value: string) => unknown {
  return response.raw === undefined
    ? (name, value) => response.setHeader(name, value)
    : (name, value) => response.header(name, value)
}
