import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { inject } from 'vitest'
import type { PackedPackage } from './packaging/pack.ts'
import type { RunningCluster } from './servers/start-cluster.ts'
import type { RunningSentinel } from './servers/start-sentinel.ts'
import type { RunningServer } from './servers/start-server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where `shared.setup.ts` answers. */
    sharedPort: number
  }
}

/** What test files share. It outlives the file. */
export interface Shared {
  readonly single: Omit<RunningServer, 'stop'>
  readonly sentinel: Omit<RunningSentinel, 'stop'>
  readonly cluster: Omit<RunningCluster, 'stop'>
  readonly package: Omit<PackedPackage, 'stop'>
}

/** Gives what all who ask for the same `name` share. The first to ask waits until it is there. */
export async function share<Kind extends keyof Shared>(kind: Kind, name: string): Promise<Shared[Kind]> {
  // On a connection that closes: some tests look at what keeps the process alive.
  const request = get({ host: '127.0.0.1', port: inject('sharedPort'), path: `/${kind}/${name}`, agent: false })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const reply = await text(response)
  if (response.statusCode !== 200) throw new Error(reply)
  return JSON.parse(reply)
}
