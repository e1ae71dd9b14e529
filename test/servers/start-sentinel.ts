import { isDeepStrictEqual } from 'node:util'
import { ask } from './ask.ts'
import type { ServerBinary } from './server-binary.ts'
import type { RunningServer, StartOptions } from './start-server.ts'
import { startServers, stopServers } from './start-servers.ts'
import { waitUntil } from './wait-until.ts'

/** How to start a primary that Sentinels watch. */
export interface SentinelOptions {
  /** @default 1 */
  readonly replicas?: number
  /** More than half of them have to agree that the primary is gone. @default 3 */
  readonly sentinels?: number
  /** Silence after which a Sentinel takes the primary for gone, in milliseconds. @default 1000 */
  readonly downAfterMs?: number
  /** @default the one that the global setup found */
  readonly server?: ServerBinary
  /** More arguments for the primary and its replicas, such as `['--maxmemory', '2mb']`. @default none */
  readonly args?: readonly string[]
}

/** A primary, its replicas and their Sentinels; `stop` of a single one ends it alone, as a crash would. */
export interface RunningSentinel {
  /** What a client asks the Sentinels for. */
  readonly masterName: string
  readonly sentinels: readonly RunningServer[]
  /** As at the start; a failover does not change it. */
  readonly primary: RunningServer
  /** As at the start. */
  readonly replicas: readonly RunningServer[]
  /** Ends all of them at once and removes their folders. May be called again. */
  stop(): Promise<void>
}

/**
 * Starts a primary, its replicas and Sentinels on loopback, and resolves when every Sentinel sees all the others and
 * could replace the primary. Leaves nothing when it fails.
 */
export async function startSentinel(options: SentinelOptions = {}): Promise<RunningSentinel> {
  const { replicas: replicaCount = 1, sentinels: sentinelCount = 3, downAfterMs = 1_000, server, args = [] } = options
  const started: RunningServer[] = []
  const start = async (count: number, more: StartOptions) => {
    const servers = await startServers(Array.from({ length: count }, () => ({ ...(server && { server }), ...more })))
    started.push(...servers)
    return servers
  }
  const stop = () => stopServers(started)
  try {
    const [primary] = (await start(1, { args: [...FAST_SYNC, ...args] })) as [RunningServer]
    const { host, port } = primary
    const replicas = await start(replicaCount, { args: [...FAST_SYNC, '--replicaof', host, `${port}`, ...args] })
    // A Sentinel asks for the replicas when it starts, and then not again for seconds.
    await waitUntil(() => whyNotFollowed(primary, replicaCount))
    const config = sentinelConfig(primary, Math.floor(sentinelCount / 2) + 1, downAfterMs)
    const sentinels = await start(sentinelCount, { args: ['--sentinel'], config })
    for (const sentinel of sentinels) await ask(sentinel, 'SENTINEL', 'DEBUG', ...FAST_GOSSIP)
    for (const sentinel of sentinels) await waitUntil(() => whyNotWatching(sentinel, primary, replicas, sentinelCount))
    return { masterName: MASTER_NAME, sentinels, primary, replicas, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function sentinelConfig({ host, port }: RunningServer, quorum: number, downAfterMs: number): string {
  return [
    `sentinel monitor ${MASTER_NAME} ${host} ${port} ${quorum}`,
    `sentinel down-after-milliseconds ${MASTER_NAME} ${downAfterMs}`,
    `sentinel failover-timeout ${MASTER_NAME} 2000`,
    `sentinel announce-ip ${host}`,
    '',
  ].join('\n')
}

async function whyNotFollowed(primary: RunningServer, replicaCount: number): Promise<string | undefined> {
  const info = `${await ask(primary, 'INFO', 'replication')}`
  return info.match(/state=online/g)?.length === replicaCount || replicaCount === 0 ? undefined : info
}

async function whyNotWatching(
  sentinel: RunningServer,
  primary: RunningServer,
  replicas: readonly RunningServer[],
  sentinelCount: number,
): Promise<string | undefined> {
  const master = fields(await ask(sentinel, 'SENTINEL', 'MASTER', MASTER_NAME))
  const others = (await ask(sentinel, 'SENTINEL', 'SENTINELS', MASTER_NAME)) as unknown[]
  const followers = ((await ask(sentinel, 'SENTINEL', 'REPLICAS', MASTER_NAME)) as unknown[]).map(fields)
  const seen = {
    primary: [master.port, master.flags],
    replicas: followers.map((follower) => [follower.port, follower.flags, follower['master-link-status']]).sort(),
    sentinels: others.map((other) => fields(other).flags),
  }
  const wanted = {
    primary: [`${primary.port}`, 'master'],
    replicas: replicas.map(({ port }) => [`${port}`, 'slave', 'ok']).sort(),
    sentinels: Array(sentinelCount - 1).fill('sentinel'),
  }
  return isDeepStrictEqual(seen, wanted) ? undefined : `a Sentinel sees ${JSON.stringify(seen)}`
}

/** Sentinel replies with names and values in turn. */
function fields(reply: unknown): Record<string, string | undefined> {
  const words = reply as string[]
  return Object.fromEntries(words.flatMap((word, index) => (index % 2 === 0 ? [[word, words[index + 1]]] : [])))
}

const MASTER_NAME = 'sluice'

// A primary would otherwise wait five seconds for more replicas to feed at once.
const FAST_SYNC = ['--repl-diskless-sync-delay', '0']

// Sentinels find each other through what they publish, by default every two seconds, and ask around every second.
// The period of their pings stays: a replica that has not answered for five of them is never chosen.
const FAST_GOSSIP = ['publish-period', 100, 'info-period', 500, 'ask-period', 100]
