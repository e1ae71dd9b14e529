import type { IncomingMessage } from 'node:http'
import { show } from '../../core/check.ts'
import { assertHost, assertOneHost } from './host-check.ts'
import type { ServeFile } from './page-files.ts'
import { isProxied } from './proxied.ts'
import { assertShort, readBody } from './read-body.ts'
import { assertJson, readJson } from './read-json.ts'
import { RequestError } from './request-error.ts'
import { createErrorResponse, createProblemResponse, type ServiceResponse } from './response.ts'
import type { Access, GetRoute, HeadRoute, PostRoute, Routes } from './route.ts'
import type { AssertToken } from './token-check.ts'

/** What a router goes by. */
export interface RouterOptions {
  readonly routes: Routes
  readonly check: HeadRoute
  readonly file: ServeFile
  readonly assertToken: AssertToken
  /** Names besides those of this machine that a request may call it by. */
  readonly hosts: readonly string[]
  readonly maxBodyBytes: number
  onError(error: unknown): void
  /** Called with the status of every response. */
  onResponse(route: string, status: number): void
}

/** How a request has come in. */
export interface RequestOrigin {
  /** Whether only this machine can reach the service. */
  readonly isLocal: boolean
  /** Tells a client that waits for it to send the body. */
  proceed(): void
}

/** Checks requests and hands them to their routes. */
export class Router {
  readonly #options: RouterOptions
  readonly #routes: ReadonlyMap<string, GetRoute | PostRoute>

  constructor(options: RouterOptions) {
    this.#options = options
    this.#routes = new Map(Object.entries(options.routes))
  }

  /** Responds to any request, at once where nothing has to be awaited. Never throws or rejects. */
  handle(request: IncomingMessage, origin: RequestOrigin): ServiceResponse | Promise<ServiceResponse> {
    const { prefix } = this.#options.check
    return request.url?.startsWith(prefix) ? this.#check(request, request.url) : this.#handleRoute(request, origin)
  }

  /** A request with the token may name any host here: a proxy passes its client's on, and a web page does not know the token. */
  #check(request: IncomingMessage, url: string): ServiceResponse | Promise<ServiceResponse> {
    const { check, assertToken, onError } = this.#options
    try {
      assertOneHost(request.rawHeaders)
      assertToken(request.headers.authorization, '')
      const response = check.handle(request, url.slice(check.prefix.length))
      if (!(response instanceof Promise)) return this.#count(check.prefix, response)
      return response
        .catch((error) => createProblemResponse(error, onError))
        .then((settled) => this.#count(check.prefix, settled))
    } catch (error) {
      return this.#count(check.prefix, createProblemResponse(error, onError))
    }
  }

  #count(route: string, response: ServiceResponse): ServiceResponse {
    this.#options.onResponse(route, response.status)
    return response
  }

  async #handleRoute(request: IncomingMessage, origin: RequestOrigin): Promise<ServiceResponse> {
    const path = readPath(request)
    let response: ServiceResponse
    try {
      response = await this.#dispatch(request, path, origin)
    } catch (error) {
      response = createErrorResponse(error, this.#options.onError)
    }
    return this.#count(this.#routes.has(path) ? path : 'other', response)
  }

  #dispatch(request: IncomingMessage, path: string, origin: RequestOrigin): ServiceResponse | Promise<ServiceResponse> {
    const { hosts } = this.#options
    assertOneHost(request.rawHeaders)
    if (origin.isLocal) assertHost(request.headers.host, hosts)
    const route = this.#routes.get(path)
    if (route === undefined) return this.#serveFile(request, path)
    assertMethod(request, route.method)
    this.#assertAccess(request, route.access, origin)
    return route.method === 'GET' ? route.handle() : this.#handleBody(request, route, origin)
  }

  /** An allowed name is one that a proxy passes on: then every request may be one of its. */
  #assertAccess(request: IncomingMessage, access: Access, { isLocal }: RequestOrigin): void {
    const { hosts, assertToken } = this.#options
    if (access === 'open') return
    if (access === 'local' && isLocal && hosts.length === 0 && !isProxied(request)) return
    assertToken(request.headers.authorization, access === 'local' ? LOOKING : '')
  }

  #serveFile(request: IncomingMessage, path: string): ServiceResponse {
    const found = this.#options.file(path, request.headers['if-none-match'])
    if (found === undefined) throw new RequestError('NOT_FOUND', `unknown path ${show(path)}`)
    assertMethod(request, 'GET')
    return found
  }

  #handleBody(request: IncomingMessage, route: PostRoute, { proceed }: RequestOrigin): Promise<ServiceResponse> {
    const { maxBodyBytes } = this.#options
    assertJson(request.headers['content-type'])
    assertShort(request, maxBodyBytes)
    proceed()
    return readBody(request, maxBodyBytes).then((body) => route.handle(readJson(body)))
  }
}

const LOOKING = ': without it only this machine may look, and through no proxy'

function readPath({ url = '' }: IncomingMessage): string {
  const end = url.indexOf('?')
  return end < 0 ? url : url.slice(0, end)
}

function assertMethod({ method }: IncomingMessage, wanted: 'GET' | 'POST'): void {
  const allowed = wanted === 'GET' ? ['GET', 'HEAD'] : ['POST']
  if (allowed.includes(method as string)) return
  const allow = allowed.join(', ')
  throw new RequestError('METHOD_NOT_ALLOWED', `method ${method} not allowed; use ${allow}`, { headers: { allow } })
}
