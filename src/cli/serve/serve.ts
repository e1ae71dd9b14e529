import { once } from 'node:events'
import type { Store } from '../../core/store.ts'
import { createService } from '../../service/service.ts'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import { redisStore } from '../../stores/redis/redis-store.ts'
import { VERSION } from '../command/version.ts'
import { readLiveGrants } from '../inspect/live-grants.ts'
import { resolveRedisUrl } from '../redis/redis-option.ts'
import { connectRedis } from '../redis/redis-url.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { startDemoTraffic } from './demo-traffic.ts'
import { listenOn } from './listen.ts'
import { createServeLog, type ServeLog } from './log.ts'
import { findPageFolder } from './page-folder.ts'
import { keepReloading, readServedPolicies, reloadPolicies } from './reload.ts'
import { planRls, type RlsPlan, startRls } from './rls.ts'
import { describeReads, formatPageUrl, formatUrl, type Started } from './started.ts'
import { assertOwnToken, resolveToken } from './token.ts'

/** Options of `sluice serve`. */
export interface ServeOptions {
  readonly policies?: string
  readonly redis?: string
  readonly host: string
  readonly port?: number
  readonly tokenFile?: string
  readonly allowHost?: readonly string[]
  readonly watch: boolean
  readonly maxBody: number
  readonly demo?: boolean
  readonly json?: boolean
  readonly rls?: string
  readonly rlsConfig?: readonly string[]
}

/** How long requests under way may take to be answered when the service ends. */
const GRACE_MS = 5_000

/**
 * Serves until the terminal's signal says to end. Resolves when everything that was asked has its answer.
 *
 * @param program where this program is: the page is beside it.
 */
export async function serve(
  options: ServeOptions,
  terminal: Terminal,
  program: string = import.meta.url,
): Promise<void> {
  const token = await resolveToken(options.tokenFile, terminal)
  await assertOwnToken('--host', options.host, token)
  const rls = await planRls(options.rls, options.rlsConfig)
  if (rls !== undefined) await assertOwnToken('--rls', rls.host, token)
  const policies = await readServedPolicies(options.policies)
  const log = createServeLog(terminal, options.json === true)
  const url = resolveRedisUrl(options.redis, terminal)
  const redis = url === undefined ? undefined : await connectRedis(url, { isPatient: true })
  try {
    const page = await findPageFolder(program)
    const store = redis === undefined ? memoryStore() : redisStore(redis.client)
    const service = await createService({
      policies,
      store,
      ...(redis !== undefined && {
        place: redis.place,
        readGrants: (places) => readLiveGrants(redis.client, places),
      }),
      ...(page !== undefined && { page }),
      token: token.text,
      version: VERSION,
      hosts: (options.allowHost ?? []).map((name) => name.toLowerCase()),
      maxBodyBytes: options.maxBody,
      onStoreChange: log.storeChanged,
      onError: log.failed,
    })
    const started = { service, policies, token, place: redis?.place }
    await serveUntilEnd(started, options, terminal, log, rls && { plan: rls, store })
  } finally {
    await redis?.close()
  }
}

async function serveUntilEnd(
  started: Pick<Started, 'service' | 'policies' | 'token' | 'place'>,
  options: ServeOptions,
  { signal }: Terminal,
  log: ServeLog,
  rls: { readonly plan: RlsPlan; readonly store: Store } | undefined,
): Promise<void> {
  const { service, token } = started
  const stops: (() => void)[] = []
  const ends: ((graceMs: number) => Promise<void>)[] = [(graceMs) => service.close(graceMs)]
  try {
    const address = await listenOn(service, options.host, options.port)
    const url = formatUrl(address)
    const told = { page: formatPageUrl(url, token), reads: describeReads(address, options.allowHost ?? []) }
    const { policies: file } = options
    if (file !== undefined) {
      stops.push(keepReloading([file], options.watch, () => reloadPolicies(service, file, log)))
    }
    if (rls !== undefined) {
      const running = await startRls(rls.plan, { service, store: rls.store, token: token.text, log })
      ends.unshift(running.close)
      stops.push(keepReloading(rls.plan.files, options.watch, running.reload))
    }
    log.started({ ...started, url, ...told, file })
    if (options.demo === true) stops.push(startDemoTraffic(() => service.limiters()))
    if (!signal.aborted) await once(signal, 'abort')
    log.closing()
  } finally {
    for (const stop of stops) stop()
    for (const end of ends) await end(GRACE_MS)
  }
  log.closed()
}
