import { Redis } from 'ioredis'
import { type Shared, share } from '../shared.ts'
import type { Address } from './ask.ts'

/** The servers that the test files of one worker share. */
export type SharedServers = Pick<Shared, 'single' | 'sentinel' | 'cluster'>

/**
 * This worker's server, as a new one would be: no keys, no scripts, no counts, no clients. A worker runs its files one after the
 * other, so one file has the server for itself. A test that stops a server or configures it starts one of its own.
 */
export async function useServer(): Promise<SharedServers['single']> {
  const single = await shareInWorker('single')
  await clear(single)
  return single
}

/** This worker's Cluster of three primaries, as a new one would be. */
export async function useCluster(): Promise<SharedServers['cluster']> {
  const cluster = await shareInWorker('cluster')
  await Promise.all(cluster.nodes.map(clear))
  return cluster
}

/** This worker's primary with its replica and Sentinels, as new ones would be. */
export async function useSentinel(): Promise<SharedServers['sentinel']> {
  const sentinel = await shareInWorker('sentinel')
  await clear(sentinel.primary)
  return sentinel
}

function shareInWorker<Kind extends keyof SharedServers>(kind: Kind): Promise<Shared[Kind]> {
  return share(kind, `${process.env.VITEST_POOL_ID}`)
}

async function clear({ host, port }: Address): Promise<void> {
  const redis = new Redis({ host, port })
  // The clients first: one that an earlier file has left must not write again.
  await redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
  await redis.flushall('SYNC')
  await redis.script('FLUSH')
  await redis.config('RESETSTAT')
  redis.disconnect()
}
