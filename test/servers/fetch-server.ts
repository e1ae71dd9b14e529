import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { cachedServer } from './cached-server.ts'
import type { ServerBinary } from './server-binary.ts'

/**
 * Downloads the platform's own `redis-server` package, with the libraries this machine lacks, and unpacks it into
 * `cacheFolder`. Installs nothing and needs no root, so no service is started and the machine stays as it is.
 */
export async function fetchServer(env: NodeJS.ProcessEnv, cacheFolder: string): Promise<ServerBinary> {
  if (!(await hasApt(env))) {
    throw new Error(
      'no Redis server found, and without apt-get none can be fetched: ' +
        'run "brew install redis", or set SLUICE_REDIS_SERVER to the path of a server',
    )
  }
  const work = await mkdtemp(join(tmpdir(), 'sluice-apt-'))
  try {
    // apt gives up its rights as root, and then has to be able to enter the folder.
    await chmod(work, 0o755)
    await download(env, work)
    await replaceFolder(cacheFolder, (folder) => unpack(env, work, folder))
  } finally {
    await rm(work, { recursive: true, force: true })
  }
  const server = await cachedServer(cacheFolder)
  if (server === undefined) throw new Error(`the fetched redis-server does not run here: ${WAY_OUT}`)
  return server
}

async function hasApt(env: NodeJS.ProcessEnv): Promise<boolean> {
  try {
    await promisify(execFile)('apt-get', ['--version'], { env })
    return true
  } catch {
    return false
  }
}

/** Leaves the packages in `work`. Lists are kept there too: the machine's may be empty, stale or not ours to write. */
async function download(env: NodeJS.ProcessEnv, work: string): Promise<void> {
  await mkdir(join(work, 'state/lists/partial'), { recursive: true })
  await mkdir(join(work, 'cache/archives/partial'), { recursive: true })
  const own = ['-qq', '-o', `Dir::State=${work}/state`, '-o', `Dir::Cache=${work}/cache`, '-o', 'Acquire::Retries=3']
  const apt = (...args: string[]) => run(env, work, 'apt-get', [...args, ...own])
  await apt('update')
  const plan = await apt('install', '--simulate', '--no-install-recommends', 'redis-server')
  const packages = [...plan.matchAll(/^Inst (\S+)/gm)].map(([, name]) => name as string)
  console.info(`fetching ${packages.join(', ')} into .cache/redis, once`)
  await apt('download', ...packages)
}

async function unpack(env: NodeJS.ProcessEnv, work: string, folder: string): Promise<void> {
  const packages = (await readdir(work)).filter((file) => file.endsWith('.deb'))
  for (const file of packages) await run(env, work, 'dpkg', ['-x', file, folder])
}

/** Fills a folder beside the old one and then swaps, so that nobody ever sees half of it. */
async function replaceFolder(target: string, fill: (folder: string) => Promise<void>): Promise<void> {
  await mkdir(dirname(target), { recursive: true })
  const folder = await mkdtemp(join(dirname(target), `${basename(target)}-`))
  try {
    await fill(folder)
    await rename(folder, target)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error
    // Another run may have finished first, and what it made is in use by now.
    if ((await cachedServer(target)) !== undefined) return
    await rm(target, { recursive: true, force: true })
    await rename(folder, target)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function run(env: NodeJS.ProcessEnv, cwd: string, command: string, args: string[]): Promise<string> {
  try {
    const options = { env: { ...env, LC_ALL: 'C' }, cwd, timeout: LONGEST_STEP_MS, maxBuffer: 2 ** 26 }
    return (await promisify(execFile)(command, args, options)).stdout
  } catch (error) {
    // What apt printed names the machine's package servers, so it stays out of messages that end up in public logs.
    const { code } = error as { code?: string | number | null }
    throw new Error(`could not fetch redis-server, "${command} ${args[0]}" ended with ${code}: ${WAY_OUT}`)
  }
}

const WAY_OUT = 'install one, or set SLUICE_REDIS_SERVER to the path of a server'
const LONGEST_STEP_MS = 300_000
