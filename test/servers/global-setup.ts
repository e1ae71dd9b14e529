import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'
import { findServer } from './find-server.ts'
import { type ServerBinary, versionOf } from './server-binary.ts'

declare module 'vitest' {
  interface ProvidedContext {
    redisServer: ServerBinary
  }
}

/**
 * Finds the server once for all workers, so that a fetch happens once too. With `SLUICE_ENGINE` it prints one plain line
 * that scripts/test-engines.mjs reads: which version the tests run on, or why there is none.
 */
export async function setup(project: TestProject): Promise<void> {
  const engine = process.env.SLUICE_ENGINE
  const cacheFolder = fileURLToPath(new URL(`../../.cache/${engine ?? 'redis'}`, import.meta.url))
  try {
    const server = await findServer(process.env, cacheFolder)
    project.provide('redisServer', server)
    if (engine !== undefined) console.info(`engine ${engine}: version ${await versionOf(server)}`)
  } catch (error) {
    if (engine !== undefined) console.info(`engine ${engine}: none, ${(error as Error).message}`)
    throw error
  }
}
