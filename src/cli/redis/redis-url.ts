import { once } from 'node:events'
import { Cluster, type ClusterOptions, Redis } from 'ioredis'
import { callFailure } from '../../stores/redis/call-failure.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { findConnectionProblem } from './connection-problem.ts'
import { parseRedisUrl, type RedisAddress } from './redis-address.ts'

/** A Redis that a command talks to. */
export interface ConnectedRedis {
  /** For `redisStore`. */
  readonly client: Redis | Cluster
  readonly topology: RedisAddress['topology']
  /** Where it is, for people: `127.0.0.1:6379`. Never a user or a password. */
  readonly place: string
  /** Ends the connection. May be called again. */
  close(): Promise<void>
}

/** How to connect. */
export interface ConnectOptions {
  /**
   * How long the first connection may take.
   * @default 5_000
   */
  readonly withinMs?: number
  /**
   * Whether to resolve at once, with or without a server, and to keep trying: for what runs on when Redis does not answer.
   * @default false
   */
  readonly isPatient?: boolean
}

/**
 * Connects to the Redis that a URL names. Rejects with a `CommandFailure` when the URL is wrong, when nothing answers in time or when
 * the server does not let us in. A connection that is lost later is made again.
 */
export async function connectRedis(url: string, options: ConnectOptions = {}): Promise<ConnectedRedis> {
  const { withinMs = 5_000, isPatient = false } = options
  const address = parseRedisUrl(url)
  const retry = { isOn: isPatient }
  const client = createClient(address, withinMs, (times) => (retry.isOn ? Math.min(times * 50, 2_000) : null))
  // Without a listener ioredis prints every failure. The command that fails reports it.
  const seen: { reason?: Error } = {}
  client.on('error', (error: Error) => {
    seen.reason = error
  })
  const connected: ConnectedRedis = {
    client,
    topology: address.topology,
    place: address.place,
    close: () => closeClient(client),
  }
  if (isPatient) {
    client.connect().catch(() => {})
    return connected
  }
  try {
    await within(withinMs, client.connect())
  } catch (error) {
    client.disconnect()
    throw await describeFailure(address, seen.reason ?? (error as Error), withinMs)
  }
  retry.isOn = true
  return connected
}

type Retry = (times: number) => number | null

function createClient(address: RedisAddress, connectTimeout: number, retry: Retry): Redis | Cluster {
  const { topology, isTls, hosts, user, password, db, name } = address
  const own = {
    ...(user !== undefined && { username: user }),
    ...(password !== undefined && { password }),
    ...(isTls && { tls: {} }),
    connectTimeout,
    retryStrategy: retry,
  }
  if (topology === 'cluster') {
    const lookup: ClusterOptions = isTls ? { dnsLookup: (host, found) => found(null, host) } : {}
    // A certificate names hosts, not addresses.
    return new Cluster([...hosts], { ...lookup, redisOptions: own, lazyConnect: true, clusterRetryStrategy: retry })
  }
  if (topology === 'sentinel') {
    return new Redis({
      ...own,
      db,
      sentinels: [...hosts],
      name: name as string,
      lazyConnect: true,
      sentinelRetryStrategy: retry,
    })
  }
  return new Redis({ ...own, ...(hosts[0] as { host: string; port: number }), db, lazyConnect: true })
}

async function within(ms: number, work: Promise<void>): Promise<void> {
  let timeout: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timeout = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms)
  })
  try {
    await Promise.race([work, late])
  } finally {
    clearTimeout(timeout)
  }
}

async function describeFailure(address: RedisAddress, error: Error, withinMs: number): Promise<CommandFailure> {
  const unreachable = await findConnectionProblem(address.hosts, withinMs)
  if (unreachable !== undefined) return new CommandFailure(`no Redis answers at ${address.place}: ${unreachable}`)
  return new CommandFailure(callFailure(`Redis at ${address.place} cannot be used`, error).message, undefined, {
    cause: error,
  })
}

async function closeClient(client: Redis | Cluster): Promise<void> {
  const isOpen = OPEN.includes(client.status)
  const ended = once(client, 'end')
  client.disconnect()
  // Between two attempts there is no connection, and ioredis emits no 'end'.
  if (isOpen) await ended
}

const OPEN: readonly string[] = ['connecting', 'connect', 'ready']
