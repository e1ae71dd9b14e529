import type { IncomingMessage } from 'node:http'
import { show } from '../core/check.ts'
import { type Answer, errorAnswer } from './answer.ts'
import { demandHost, demandOneHost } from './host-check.ts'
import type { AnswerFile } from './page-files.ts'
import { isProxied } from './proxied.ts'
import { demandShort, readBody } from './read-body.ts'
import { demandJson, readJson } from './read-json.ts'
import { RequestError } from './request-error.ts'
import type { Access, GetRoute, PostRoute, Routes } from './route.ts'
import type { DemandToken } from './token-check.ts'

/** What a router goes by. */
export interface RouterOptions {
  readonly routes: Routes
  readonly file: AnswerFile
  readonly demandToken: DemandToken
  /** Names besides those of this machine that a request may call it by. */
  readonly hosts: readonly string[]
  readonly maxBodyBytes: number
  onError(error: unknown): void
  /** Is told of every answer. */
  onAnswer(route: string, status: number): void
}

/** How a request has come in. */
export interface Arrival {
  /** Whether only this machine can reach the service. */
  readonly isLocal: boolean
  /** Tells a client that waits for it to send the body. */
  proceed(): void
}

/** Answers requests. */
export class Router {
  readonly #options: RouterOptions
  readonly #routes: ReadonlyMap<string, GetRoute | PostRoute>

  constructor(options: RouterOptions) {
    this.#options = options
    this.#routes = new Map(Object.entries(options.routes))
  }

  /** The answer to a request, whatever it is. Never rejects. */
  async answer(request: IncomingMessage, arrival: Arrival): Promise<Answer> {
    const path = pathOf(request)
    const answer = await this.#tryAnswer(request, path, arrival)
    this.#options.onAnswer(this.#routes.has(path) ? path : 'other', answer.status)
    return answer
  }

  async #tryAnswer(request: IncomingMessage, path: string, arrival: Arrival): Promise<Answer> {
    try {
      return await this.#answer(request, path, arrival)
    } catch (error) {
      return errorAnswer(error, this.#options.onError)
    }
  }

  #answer(request: IncomingMessage, path: string, arrival: Arrival): Answer | Promise<Answer> {
    const { hosts } = this.#options
    demandOneHost(request.rawHeaders)
    if (arrival.isLocal) demandHost(request.headers.host, hosts)
    const route = this.#routes.get(path)
    if (route === undefined) return this.#answerFile(request, path)
    demandMethod(request, route.method)
    this.#demandAccess(request, route.access, arrival)
    return route.method === 'GET' ? route.answer() : this.#answerBody(request, route, arrival)
  }

  /** An allowed name is one that a proxy passes on: then every request may be one of its. */
  #demandAccess(request: IncomingMessage, access: Access, { isLocal }: Arrival): void {
    const { hosts, demandToken } = this.#options
    if (access === 'open') return
    if (access === 'local' && isLocal && hosts.length === 0 && !isProxied(request)) return
    demandToken(request.headers.authorization, access === 'local' ? LOOKING : '')
  }

  #answerFile(request: IncomingMessage, path: string): Answer {
    const found = this.#options.file(path, request.headers['if-none-match'])
    if (found === undefined) throw new RequestError('NOT_FOUND', `there is nothing at ${show(path)}`)
    demandMethod(request, 'GET')
    return found
  }

  async #answerBody(request: IncomingMessage, route: PostRoute, { proceed }: Arrival): Promise<Answer> {
    const { maxBodyBytes } = this.#options
    demandJson(request.headers['content-type'])
    demandShort(request, maxBodyBytes)
    proceed()
    return route.answer(readJson(await readBody(request, maxBodyBytes)))
  }
}

const LOOKING = ': without it only this machine may look, and through no proxy'

function pathOf({ url = '' }: IncomingMessage): string {
  const end = url.indexOf('?')
  return end < 0 ? url : url.slice(0, end)
}

function demandMethod({ method }: IncomingMessage, wanted: 'GET' | 'POST'): void {
  const allowed = wanted === 'GET' ? ['GET', 'HEAD'] : ['POST']
  if (allowed.includes(method as string)) return
  const allow = allowed.join(', ')
  throw new RequestError('METHOD_NOT_ALLOWED', `this is asked for with ${allow}, got ${method}`, { headers: { allow } })
}
