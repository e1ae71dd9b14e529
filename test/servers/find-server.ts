import { existsSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { cachedServer } from './cached-server.ts'
import { fetchServer } from './fetch-server.ts'
import { type ServerBinary, whyUnusable } from './server-binary.ts'

/**
 * The first server that runs: `SLUICE_REDIS_SERVER`, `redis-server` then `valkey-server` on the `PATH`,
 * the one in `cacheFolder`, or one fetched into it. A server that was named is used or is an error, never passed over.
 */
export async function findServer(env: NodeJS.ProcessEnv, cacheFolder: string): Promise<ServerBinary> {
  if (env.SLUICE_REDIS_SERVER !== undefined) return namedServer(env.SLUICE_REDIS_SERVER)
  return (await serverOnPath(env.PATH ?? '')) ?? (await cachedServer(cacheFolder)) ?? fetchServer(env, cacheFolder)
}

async function namedServer(name: string): Promise<ServerBinary> {
  // Made absolute, because a bare name would be looked up on the PATH.
  const server = { path: resolve(name), env: {} }
  const why = await whyUnusable(server)
  if (why === undefined) return server
  throw new Error(`SLUICE_REDIS_SERVER must be the path of a server that runs, got ${JSON.stringify(name)}: ${why}`)
}

async function serverOnPath(searchPath: string): Promise<ServerBinary | undefined> {
  const folders = searchPath.split(delimiter).filter((folder) => folder !== '')
  for (const name of ['redis-server', 'valkey-server']) {
    for (const folder of folders) {
      const server = { path: resolve(join(folder, name)), env: {} }
      if (existsSync(server.path) && (await whyUnusable(server)) === undefined) return server
    }
  }
  return undefined
}
