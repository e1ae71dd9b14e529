import { wholeNumber } from '../core/check.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import type { Store } from '../core/store.ts'
import type { Limiter } from '../limiter/limiter.ts'
import { createLiveBoard } from '../observe/live-board.ts'
import type { Policies } from '../policies/read-policies.ts'
import { createLiveReports, type Reloads } from './live.ts'
import { createMetrics } from './metrics.ts'
import { PoliciesInForce } from './policies-in-force.ts'
import { checkReadiness } from './readiness.ts'
import { createChangeRoutes } from './routes/change.ts'
import { createCheckRoute } from './routes/check.ts'
import { consumeRoutes } from './routes/consume.ts'
import { createHoldRoutes } from './routes/hold.ts'
import { createKeyRoutes, type ReadGrants } from './routes/key.ts'
import { createReportRoutes } from './routes/report.ts'
import { HttpServer, type ListeningAddress } from './server/http-server.ts'
import { readPage } from './server/page-files.ts'
import { Router } from './server/router.ts'
import { createTokenCheck } from './server/token-check.ts'
import { createStoreWatch, type StoreChange } from './store-news.ts'

/** Options of `createService`. */
export interface ServiceOptions {
  readonly policies: Policies
  /** Where all policies keep their counts. It stays open when the service ends. */
  readonly store: Store
  /**
   * Where the store is, for people and without a password.
   * @default 'this process'
   */
  readonly place?: string
  /** What clients have to send to change anything, 16 to 1,000 printable characters. */
  readonly token: string
  /** For reports. */
  readonly version: string
  /**
   * The folder of the page, read once.
   * @default no page
   */
  readonly page?: string
  /**
   * Names besides those of this machine that requests may call it by, while only this machine can reach it: those that a proxy passes
   * on. With any of them looking needs the token too.
   * @default none
   */
  readonly hosts?: readonly string[]
  /**
   * The longest body of a request.
   * @default 1_048_576
   */
  readonly maxBodyBytes?: number
  /**
   * How long a request may take to come in, its body included.
   * @default 30_000
   */
  readonly requestMs?: number
  /**
   * Where decisions and reports take their time from.
   * @default the store's own, and the machine's for reports
   */
  readonly clock?: Clock
  /**
   * Reads what processes have taken of a key ahead of time, for the page.
   * @default nothing is shown of that
   */
  readonly readGrants?: ReadGrants
  /** Called when the store is lost, and when it is back. */
  readonly onStoreChange?: (change: StoreChange) => void
  /** Called with every error that the service did not expect. */
  readonly onError?: (error: unknown) => void
}

/** Policies that decide over HTTP. */
export interface Service {
  /** Starts to listen. Port 0 takes any that is free. */
  listen(host: string, port: number): Promise<ListeningAddress>
  /**
   * Decides by other policies from now on. A policy that says the same as before goes on as it is. Throws when one of them cannot be
   * made, and leaves everything as it was.
   */
  reload(policies: Policies): void
  /** Notes for reports why new policies are not in force. The next `reload` forgets it. */
  reloadFailed(reason: string): void
  /** The limiters in force. */
  limiters(): readonly Limiter<string>[]
  /** Shows a limiter of another service in reports and metrics, until the function that it returns is called. */
  watch(limiter: Limiter<string>): () => void
  /** Takes no further request, answers those under way for `graceMs` at most, and ends its limiters. */
  close(graceMs?: number): Promise<void>
}

const GRACE_MS = 5_000

/** Makes a service that does not listen yet. */
export async function createService(options: ServiceOptions): Promise<Service> {
  const { hosts = [], maxBodyBytes = 1_048_576, requestMs = 30_000 } = options
  wholeNumber('maxBodyBytes', maxBodyBytes, 1)
  wholeNumber('requestMs', requestMs, 10)
  const assertToken = createTokenCheck(options.token)
  const file = options.page === undefined ? () => undefined : await readPage(options.page)
  const { board, policies, live, reloads, metrics, watch } = observePolicies(options)
  const state = { isClosing: false }
  const onError = (error: unknown): void => options.onError?.(error)
  const context = { policies, onError }
  const routes = {
    ...consumeRoutes(context),
    ...createChangeRoutes(context),
    ...createHoldRoutes(context),
    ...createKeyRoutes(context, board, options.readGrants),
    ...createReportRoutes(context, { live, metrics, ready: () => checkReadiness(policies, state.isClosing) }),
  }
  const onResponse = metrics.responded
  const check = createCheckRoute(context)
  const router = new Router({ routes, check, file, assertToken, hosts, maxBodyBytes, onError, onResponse })
  const server = new HttpServer(router, requestMs)
  return {
    listen: (host, port) => server.listen(host, port),
    reload(next) {
      policies.replace(next)
      reloads.count++
      reloads.error = null
    },
    reloadFailed(reason) {
      reloads.error = reason
    },
    watch,
    limiters: () => policies.all().map(({ limiter }) => limiter),
    async close(graceMs = GRACE_MS) {
      state.isClosing = true
      await server.close(graceMs)
      await policies.close()
    },
  }
}

/** Makes the policies, and the reports and metrics of what they do. */
function observePolicies(options: ServiceOptions) {
  const { store, clock, place = 'this process', version, onStoreChange } = options
  const reportClock = clock ?? systemClock
  const board = createLiveBoard({ clock: reportClock })
  const metrics = createMetrics()
  const watchStore = createStoreWatch((change) => onStoreChange?.(change))
  const watch = (limiter: Limiter<string>): (() => void) => {
    const stops = [board.watch(limiter), metrics.watch(limiter), watchStore(limiter)]
    return () => {
      for (const stop of stops) stop()
    }
  }
  const policies = new PoliciesInForce(options.policies, { store, clock, watch })
  const reloads: Reloads = { count: 0, error: null }
  const live = createLiveReports({ board, policies, store, place, version, clock: reportClock }, reloads)
  return { board, policies, live, reloads, metrics, watch }
}
