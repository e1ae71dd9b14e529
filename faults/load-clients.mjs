import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster, createSentinel } from 'redis'

/** Connects the client that a job names, with the settings it comes with; resolves at once where no server has to be there yet. */
export async function connectClient({ client, servers, topology, socketTimeoutMs: socketTimeout, waitsForServer }) {
  const redis = makers[client][topology](servers, socketTimeout === undefined ? {} : { socketTimeout })
  redis.on('error', () => {})
  if (client === 'ioredis') return { redis, end: () => endIn(2_000, redis.quit(), () => redis.disconnect()) }
  const connected = redis.connect()
  if (waitsForServer) await connected
  else connected.catch(() => {})
  return { redis, end: () => endIn(2_000, redis.close(), () => redis.destroy()) }
}

const makers = {
  ioredis: {
    single: ([{ port, host }], settings) => new Redis(port, host, settings),
    sentinel: (sentinels) => new Redis({ name: 'sluice', sentinels }),
    cluster: (nodes) => new Cluster(nodes),
  },
  'node-redis': {
    single: ([{ port, host }], settings) => createClient({ socket: { port, host, ...reconnecting(settings) } }),
    sentinel: (sentinelRootNodes) => createSentinel({ name: 'sluice', sentinelRootNodes }),
    cluster: (nodes) => createCluster({ rootNodes: nodes.map((socket) => ({ socket })) }),
  },
}

/** node-redis does not connect again on its own after a `socketTimeout`. */
function reconnecting(settings) {
  return 'socketTimeout' in settings ? { ...settings, reconnectStrategy: (tries) => Math.min(tries * 50, 2_000) } : {}
}

/** Closes politely, and after `ms` anyway. */
async function endIn(ms, closed, close) {
  let timer
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, ms, 'late')
  })
  const how = await Promise.race([closed.catch(() => 'late'), late])
  clearTimeout(timer)
  if (how === 'late') close()
}
