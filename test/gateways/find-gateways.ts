import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fetchPackages, hasApt } from '../servers/fetch-packages.ts'
import { libraryFolders } from '../servers/library-folders.ts'

/** The proxies that the examples are for. */
export type GatewayName = 'nginx' | 'caddy' | 'haproxy' | 'apache2'

/** Where the programs of the proxies are, and what they need to run. */
export interface Gateways {
  readonly programs: Readonly<Record<GatewayName, string>>
  /** Where Apache has its modules. */
  readonly apacheModules: string
  readonly env: Readonly<Record<string, string>>
}

const NAMES: readonly GatewayName[] = ['nginx', 'caddy', 'haproxy', 'apache2']
/** Apache is built with one of these. */
const LUA_VERSIONS = ['5.3', '5.4']
const CACHE = fileURLToPath(new URL('../../.cache/gateways', import.meta.url))
const WAY_OUT = 'run "apt-get install nginx caddy haproxy apache2 lua-socket"'

/**
 * Finds the proxies in `.cache/gateways` or on this machine, and fetches the system's packages into that folder once, without root, where
 * one is missing. Throws where there are none: a configuration that was not run is not tested.
 */
export async function findGateways(
  env: NodeJS.ProcessEnv = process.env,
  { cache, machine }: Roots = { cache: CACHE, machine: '/' },
): Promise<Gateways> {
  const look = () => lookForGateways([cache, machine])
  const found = await look()
  if (found !== undefined) return found
  if (!(await hasApt(env))) throw new Error(`no proxies found, and without apt-get none can be fetched: ${WAY_OUT}`)
  await fetchPackages(env, cache, {
    engine: { program: 'nginx, Caddy, HAProxy and Apache', packages: [...NAMES, 'lua-socket'] },
    wayOut: WAY_OUT,
    isUsable: async () => (await look()) !== undefined,
  })
  const fetched = await look()
  if (fetched === undefined) throw new Error(`the fetched packages do not have all proxies: ${WAY_OUT}`)
  return fetched
}

/** Where to look: a package that the machine has already is not fetched. */
interface Roots {
  readonly cache: string
  readonly machine: string
}

async function lookForGateways(roots: readonly string[]): Promise<Gateways | undefined> {
  const find = (path: string) => roots.map((root) => join(root, path)).find((file) => existsSync(file))
  const programs = NAMES.map((name) => [name, find(`usr/sbin/${name}`) ?? find(`usr/bin/${name}`)] as const)
  const apacheModules = find('usr/lib/apache2/modules')
  const hasSocket = LUA_VERSIONS.some((version) => find(`usr/share/lua/${version}/socket.lua`) !== undefined)
  if (programs.some(([, path]) => path === undefined) || apacheModules === undefined || !hasSocket) return undefined
  const [cache = ''] = roots
  const env = existsSync(cache) ? await composeEnv(cache) : {}
  return { programs: Object.fromEntries(programs) as Record<GatewayName, string>, apacheModules, env }
}

/** Libraries of the unpacked packages, and for every version of Lua its own; `;;` stands for where the machine has them. */
async function composeEnv(cache: string): Promise<Record<string, string>> {
  const folders = await libraryFolders(cache)
  const libraries = folders.filter((folder) => !folder.includes('/lua/'))
  const env: Record<string, string> = { LD_LIBRARY_PATH: libraries.join(delimiter) }
  for (const version of LUA_VERSIONS) {
    const native = folders.filter((folder) => folder.endsWith(`/lua/${version}/socket`))
    const suffix = version.replace('.', '_')
    env[`LUA_PATH_${suffix}`] = `${join(cache, 'usr/share/lua', version)}/?.lua;;`
    env[`LUA_CPATH_${suffix}`] = [...native.map((folder) => join(folder, '../?.so')), ';'].join(';')
  }
  return env
}
