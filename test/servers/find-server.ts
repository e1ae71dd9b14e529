import { existsSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { cachedServer } from './cached-server.ts'
import { chosenEngine, type Engine } from './engine.ts'
import { fetchServer } from './fetch-server.ts'
import { type ServerBinary, whyUnusable } from './server-binary.ts'

/**
 * The first server that runs: `SLUICE_REDIS_SERVER`, `redis-server` then `valkey-server` on the `PATH`,
 * the one in `cacheFolder`, or one fetched into it; with `SLUICE_ENGINE`, only servers of that engine count.
 * A server or an engine that was named is used or is an error, never passed over.
 */
export async function findServer(env: NodeJS.ProcessEnv, cacheFolder: string): Promise<ServerBinary> {
  const engine = chosenEngine(env)
  if (env.SLUICE_REDIS_SERVER !== undefined) {
    if (engine !== undefined)
      throw new Error('SLUICE_REDIS_SERVER and SLUICE_ENGINE both name a server: set one of them')
    return namedServer(env.SLUICE_REDIS_SERVER)
  }
  const onPath = await serverOnPath(env.PATH ?? '', engine ? [engine] : [REDIS, { program: 'valkey-server' }])
  const wanted = engine ?? REDIS
  return onPath ?? (await cachedServer(cacheFolder, wanted)) ?? fetchServer(env, cacheFolder, wanted)
}

async function namedServer(name: string): Promise<ServerBinary> {
  // Made absolute, because a bare name would be looked up on the PATH.
  const server = { path: resolve(name), env: {} }
  const why = await whyUnusable(server)
  if (why === undefined) return server
  throw new Error(`SLUICE_REDIS_SERVER must be the path of a server that runs, got ${JSON.stringify(name)}: ${why}`)
}

async function serverOnPath(searchPath: string, engines: readonly Engine[]): Promise<ServerBinary | undefined> {
  const folders = searchPath.split(delimiter).filter((folder) => folder !== '')
  for (const { program, major } of engines) {
    for (const folder of folders) {
      const server = { path: resolve(join(folder, program)), env: {} }
      if (existsSync(server.path) && (await whyUnusable(server, major)) === undefined) return server
    }
  }
  return undefined
}

const REDIS: Engine = { program: 'redis-server' }
