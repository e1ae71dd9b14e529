import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestProject } from 'vitest/node'
import { packPackage } from './packaging/pack.ts'
import type { ServerBinary } from './servers/server-binary.ts'
import { startCluster } from './servers/start-cluster.ts'
import { startSentinel } from './servers/start-sentinel.ts'
import { startServer } from './servers/start-server.ts'
import type { Shared } from './shared.ts'

/**
 * Makes what test files share when the first of them asks for it, as `/<kind>/<name>`, and ends all of it after the last test. Only
 * this process lives as long as that: a worker may end after each file.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const starts = startsOf(project.getProvidedContext().redisServer)
  const started = new Map<string, ReturnType<Start>>()
  const server = createServer(async ({ url = '' }, response) => {
    const [, kind] = url.split('/') as [string, keyof Shared]
    if (!started.has(url)) started.set(url, starts[kind]())
    try {
      response.end(JSON.stringify(await started.get(url)))
    } catch (error) {
      response.writeHead(500).end(`${error}`)
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  project.provide('sharedPort', (server.address() as AddressInfo).port)
  return async () => {
    server.close()
    server.closeAllConnections()
    const outcomes = await Promise.allSettled(started.values())
    await Promise.all(outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value.stop() : undefined)))
  }
}

type Start = () => Promise<{ stop(): Promise<void> }>

function startsOf(server: ServerBinary): Record<keyof Shared, Start> {
  return {
    single: () => startServer({ server }),
    // A node that answers late on a busy machine must not count as gone.
    cluster: () => startCluster({ server, args: ['--cluster-node-timeout', '20000'] }),
    sentinel: () => startSentinel({ server, downAfterMs: 20_000 }),
    package: packPackage,
  }
}
