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
export async function findGateways(env: NodeJS.ProcessEnv = process.env): Promise<Gateways> {
  const found = await lookForGateways()
  if (found !== undefined) return found
  if (!(await hasApt(env))) throw new Error(`no proxies found, and without apt-get none can be fetched: ${WAY_OUT}`)
  await fetchPackages(env, CACHE, {
    engine: { program: 'nginx, Caddy, HAProxy and Apache', packages: [...NAMES, 'lua-socket'] },
    wayOut: WAY_OUT,
    isUsable: async () => (await lookForGateways()) !== undefined,
  })
  const fetched = await lookForGateways()
  if (fetched === undefined) throw new Error(`the fetched packages do not have all proxies: ${WAY_OUT}`)
  return fetched
}

async function lookForGateways(): Promise<Gateways | undefined> {
  const programs = NAMES.map((name) => [name, findFile(`usr/sbin/${name}`) ?? findFile(`usr/bin/${name}`)] as const)
  const apacheModules = findFile('usr/lib/apache2/modules')
  const socket = LUA_VERSIONS.some((version) => findFile(`usr/share/lua/${version}/socket.lua`) !== undefined)
  if (programs.some(([, path]) => path === undefined) || apacheModules === undefined || !socket) return undefined
  const env = existsSync(CACHE) ? await composeEnv() : {}
  return { programs: Object.fromEntries(programs) as Record<GatewayName, string>, apacheModules, env }
}

/** A package that this machine has already is not fetched. */
function findFile(path: string): string | undefined {
  return [CACHE, '/'].map((root) => join(root, path)).find((file) => existsSync(file))
}

/** Libraries of the unpacked packages, and for every version of Lua its own; `;;` stands for where the machine has them. */
async function composeEnv(): Promise<Record<string, string>> {
  const folders = await libraryFolders(CACHE)
  const env: Record<string, string> = {
    LD_LIBRARY_PATH: folders.filter((folder) => !folder.includes('/lua/')).join(delimiter),
  }
  for (const version of LUA_VERSIONS) {
    const native = folders.filter((folder) => folder.endsWith(`/lua/${version}/socket`))
    const suffix = version.replace('.', '_')
    env[`LUA_PATH_${suffix}`] = `${join(CACHE, 'usr/share/lua', version)}/?.lua;;`
    env[`LUA_CPATH_${suffix}`] = [...native.map((folder) => join(folder, '../?.so')), ';'].join(';')
  }
  return env
}
