import type { Decision } from '../../src/core/decision.ts'
import type { LiveGrants, LivePolicy, LiveRefusal, LiveReport } from '../../src/observe/live-report.ts'
import type { RequestKey } from './key-text.ts'

/** How a question to the service ended. Nothing is thrown: each of these is shown. */
export type ServiceReply<Value> =
  | { readonly kind: 'told'; readonly value: Value }
  /** The token is missing or wrong. */
  | { readonly kind: 'locked' }
  | { readonly kind: 'failed'; readonly why: string }

/** Which key of which policy is meant. */
export interface KeyRequest {
  readonly policy: string
  readonly key: RequestKey
}

/** What the form "try it" asks. */
export interface ConsumeRequest extends KeyRequest {
  readonly cost: number
}

/** What a filled-in form asks: one key of a policy of one rule, otherwise a key for each tier. */
export function composeConsumeRequest(
  { name, tiers }: LivePolicy,
  keys: Readonly<Record<string, string>>,
  cost: string,
): ConsumeRequest {
  const entries = tiers.map((tier) => [tier.name, keys[tier.name] ?? ''] as const)
  const [first] = entries
  const key = entries.length === 1 && first !== undefined ? first[1] : Object.fromEntries(entries)
  return { policy: name, key, cost: Number(cost) }
}

/** A decision as JSON carries it, which has no `Infinity` and leaves out what is undefined. */
export type DecisionJson = Pick<
  Decision,
  'allowed' | 'limit' | 'remaining' | 'resetAfterMs' | 'delayMs' | 'decidedBy' | 'tiers'
> & {
  readonly retryAfterMs: number | null
  readonly reason?: Decision['reason'] | null
  readonly limitedBy?: string | null
  readonly wouldRefuse?: readonly string[]
}

/** What the service knows of a key: what its next request would get, and its last refusals, the newest first. */
export interface KeyJson {
  readonly decision: DecisionJson
  /** What processes have prefetched, of each limit that does; null where the store did not say. */
  readonly grants: readonly LiveGrants[] | null
  readonly refusals: readonly LiveRefusal[]
}

/** Asks the service that the page came from, or the one at `origin`. */
export class ServiceClient {
  readonly #origin: string
  readonly #longestMs: number

  constructor(origin = '', longestMs = 5_000) {
    this.#origin = origin
    this.#longestMs = longestMs
  }

  live(token: string | undefined): Promise<ServiceReply<LiveReport>> {
    return this.#ask('/v1/live', token)
  }

  consume(request: ConsumeRequest, token: string | undefined): Promise<ServiceReply<DecisionJson>> {
    return this.#ask('/v1/consume', token, request)
  }

  inspect({ policy, key }: KeyRequest, token: string | undefined): Promise<ServiceReply<KeyJson>> {
    return this.#ask('/v1/key', token, { policy, key })
  }

  reset(request: KeyRequest, token: string | undefined): Promise<ServiceReply<DecisionJson>> {
    return this.#ask('/v1/reset', token, request)
  }

  /** Sets the end of a block, also to an earlier time than before. */
  block(request: KeyRequest, blockMs: number, token: string | undefined): Promise<ServiceReply<DecisionJson>> {
    return this.#ask('/v1/block', token, { ...request, blockFor: blockMs, replace: true })
  }

  unblock(request: KeyRequest, token: string | undefined): Promise<ServiceReply<DecisionJson>> {
    return this.#ask('/v1/unblock', token, request)
  }

  async #ask<Value>(path: string, token: string | undefined, body?: object): Promise<ServiceReply<Value>> {
    const headers: Record<string, string> = { accept: 'application/json' }
    if (token !== undefined) headers.authorization = `Bearer ${token}`
    if (body !== undefined) headers['content-type'] = 'application/json'
    try {
      const response = await fetch(this.#origin + path, {
        headers,
        cache: 'no-store',
        signal: AbortSignal.timeout(this.#longestMs),
        ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      })
      if (response.status === 401) return { kind: 'locked' }
      if (response.ok) return { kind: 'told', value: (await response.json()) as Value }
      return { kind: 'failed', why: await readReason(response) }
    } catch (error) {
      const isLate = (error as Error).name === 'TimeoutError'
      return { kind: 'failed', why: isLate ? `no answer within ${this.#longestMs} ms` : 'the service does not answer' }
    }
  }
}

/** The service's own words for what went wrong, or at least the status. */
async function readReason(response: Response): Promise<string> {
  const text = await response.text()
  try {
    const { error } = JSON.parse(text) as { error: { message: string } }
    return error.message
  } catch {
    return `the service answered with status ${response.status}`
  }
}
