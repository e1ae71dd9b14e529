import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'
import { findServer } from './find-server.ts'
import type { ServerBinary } from './server-binary.ts'

declare module 'vitest' {
  interface ProvidedContext {
    redisServer: ServerBinary
  }
}

/** Finds the server once for all workers, so that a fetch happens once too. */
export async function setup(project: TestProject): Promise<void> {
  const cacheFolder = fileURLToPath(new URL('../../.cache/redis', import.meta.url))
  project.provide('redisServer', await findServer(process.env, cacheFolder))
}
