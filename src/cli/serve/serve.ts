import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { isLoopback } from '../../service/server/host-check.ts'
import { createService, type Service } from '../../service/service.ts'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import { redisStore } from '../../stores/redis/redis-store.ts'
import { VERSION } from '../command/version.ts'
import { resolveRedisUrl } from '../redis/redis-option.ts'
import { type ConnectedRedis, connectRedis } from '../redis/redis-url.ts'
import { UsageError } from '../terminal/command-failure.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { startDemoTraffic } from './demo-traffic.ts'
import { listenOn } from './listen.ts'
import { createServeLog, type ServeLog } from './log.ts'
import { findPageFolder } from './page-folder.ts'
import { keepReloading, readServedPolicies } from './reload.ts'
import { describeReads, formatPageUrl, formatUrl } from './started.ts'
import { resolveToken, type Token } from './token.ts'

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
  await assertOwnToken(options.host, token)
  const policies = await readServedPolicies(options.policies)
  const log = createServeLog(terminal, options.json === true)
  const url = resolveRedisUrl(options.redis, terminal)
  const redis = url === undefined ? undefined : await connectRedis(url, { isPatient: true })
  try {
    const page = await findPageFolder(program)
    const service = await createService({
      policies,
      store: redis === undefined ? memoryStore() : redisStore(redis.client),
      ...(redis !== undefined && { place: redis.place }),
      ...(page !== undefined && { page }),
      token: token.text,
      version: VERSION,
      hosts: (options.allowHost ?? []).map((name) => name.toLowerCase()),
      maxBodyBytes: options.maxBody,
      onStoreChange: log.storeChanged,
      onError: log.failed,
    })
    await serveUntilEnd(service, options, terminal, log, token, redis)
  } finally {
    await redis?.close()
  }
}

async function serveUntilEnd(
  service: Service,
  options: ServeOptions,
  { signal }: Terminal,
  log: ServeLog,
  token: Token,
  redis: ConnectedRedis | undefined,
): Promise<void> {
  const stops: (() => void)[] = []
  try {
    const address = await listenOn(service, options.host, options.port)
    const url = formatUrl(address)
    const told = { page: formatPageUrl(url, token), reads: describeReads(address, options.allowHost ?? []) }
    if (options.policies !== undefined) stops.push(keepReloading(service, options.policies, options.watch, log))
    log.started({ service, url, ...told, token, place: redis?.place, file: options.policies })
    if (options.demo === true) stops.push(startDemoTraffic(() => service.limiters()))
    if (!signal.aborted) await once(signal, 'abort')
    log.closing()
  } finally {
    for (const stop of stops) stop()
    await service.close(GRACE_MS)
  }
  log.closed()
}

/** Throws when other machines can reach the service and its token is a new one: their users could not know it. */
async function assertOwnToken(host: string, { isNew }: Token): Promise<void> {
  if (!isNew) return
  const addresses = await lookup(host, { all: true }).catch((error: Error) => {
    throw new UsageError(`--host ${host} is not an address of this machine: ${error.message}`)
  })
  if (addresses.every(({ address }) => isLoopback(address))) return
  const rule = 'a service that others can reach needs a token in --token-file or SLUICE_TOKEN'
  throw new UsageError(`${rule}, got --host ${host} and neither`)
}
