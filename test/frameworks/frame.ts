import type { MiddlewareOptions } from '../../src/adapters/middleware/options.ts'

/** What the app of a test does. */
export interface AppConfig<Request> {
  /** Options of the app-wide limiter; absent: none. */
  // biome-ignore lint/suspicious/noExplicitAny: a test may bring a limiter of any tiers.
  readonly app?: MiddlewareOptions<Request, any>
  /** Options of the limiter on GET /route, after the app-wide one; absent: none there. */
  // biome-ignore lint/suspicious/noExplicitAny: a test may bring a limiter of any tiers.
  readonly route?: MiddlewareOptions<Request, any>
  /** Behind how many proxies the app believes itself, in the framework's own way or the adapter's. Absent: none. */
  readonly hops?: number
  /** Whether refusals are answered by the frame's own `onRefused`: 418, and the text `teapot N`, N being `retryAfterMs`. */
  readonly teapot?: boolean
  /** Whether `onRefused` answers refusals with the status 429 and the JSON `{ "wait": N }`, N being `retryAfterMs`. */
  readonly ownBody?: boolean
  /** What GET /slow waits for before it answers, and GET /stream between its two chunks. */
  readonly slow?: () => Promise<void>
}

/** A running app. */
export interface App {
  readonly url: string
  close(): Promise<void>
}

/**
 * One framework with its adapter. Its app has GET (and so HEAD), POST and OPTIONS `/`, which answer 200 with
 * `{ "remaining": … }` of the decision on the request, or null; GET `/fail`, 500; GET `/denied`, 401; GET `/throw`, whose handler
 * throws; GET `/route`, which is like `/`; GET `/slow` and GET `/stream`.
 */
export interface Frame<Request> {
  readonly name: string
  header(request: Request, name: string): string | undefined
  start(config: AppConfig<Request>): Promise<App>
}
