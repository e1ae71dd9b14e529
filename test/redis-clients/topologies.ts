import { type SharedServers, useCluster, useSentinel, useServer } from '../servers/shared-servers.ts'

/** The ways in which a Redis is run that a client has to know about. */
export type Topology = keyof SharedServers

/** This worker's Redis of each kind, as new ones would be. */
export async function useTopologies(): Promise<SharedServers> {
  const [single, sentinel, cluster] = await Promise.all([useServer(), useSentinel(), useCluster()])
  return { single, sentinel, cluster }
}
