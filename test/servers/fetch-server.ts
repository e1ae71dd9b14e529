import { cachedServer } from './cached-server.ts'
import type { Engine } from './engine.ts'
import { fetchPackages, hasApt } from './fetch-packages.ts'
import { wrapWithLoader } from './own-loader.ts'
import type { ServerBinary } from './server-binary.ts'

/** Fetches the engine's package, with the libraries that it needs, into `cacheFolder`. */
export async function fetchServer(env: NodeJS.ProcessEnv, cacheFolder: string, engine: Engine): Promise<ServerBinary> {
  const { program, suite, major } = engine
  if (!(await hasApt(env))) {
    throw new Error(
      `no ${program} found, and without apt-get none can be fetched: ` +
        `run "brew install ${program.replace('-server', '')}", or set SLUICE_REDIS_SERVER to the path of a server`,
    )
  }
  await fetchPackages(env, cacheFolder, {
    engine,
    wayOut: WAY_OUT,
    finish: async (folder) => {
      if (suite !== undefined) await wrapWithLoader(folder, program)
    },
    isUsable: async () => (await cachedServer(cacheFolder, engine)) !== undefined,
  })
  const server = await cachedServer(cacheFolder, engine)
  if (server !== undefined) return server
  const orVersion = major === undefined ? '' : `, or is not version ${major}`
  throw new Error(`the fetched ${program} does not run here${orVersion}: ${WAY_OUT}`)
}

const WAY_OUT = 'install one, or set SLUICE_REDIS_SERVER to the path of a server'
