import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { cachedServer } from './cached-server.ts'
import { downloadPackages, type Run } from './download-packages.ts'
import type { Engine } from './engine.ts'
import { wrapWithLoader } from './own-loader.ts'
import type { ServerBinary } from './server-binary.ts'

/**
 * Downloads the engine's package, with the libraries that it needs, and unpacks it into `cacheFolder`.
 * Installs nothing and needs no root, so no service is started and the machine stays as it is.
 */
export async function fetchServer(env: NodeJS.ProcessEnv, cacheFolder: string, engine: Engine): Promise<ServerBinary> {
  const { program, suite, major } = engine
  if (!(await hasApt(env))) {
    throw new Error(
      `no ${program} found, and without apt-get none can be fetched: ` +
        `run "brew install ${program.replace('-server', '')}", or set SLUICE_REDIS_SERVER to the path of a server`,
    )
  }
  const work = await mkdtemp(join(tmpdir(), 'sluice-apt-'))
  const run = runIn(work, env, program)
  try {
    // apt gives up its rights as root, and then has to be able to enter the folder.
    await chmod(work, 0o755)
    await downloadPackages(run, work, engine)
    await replaceFolder(cacheFolder, engine, async (folder) => {
      await unpack(run, work, folder)
      if (suite !== undefined) await wrapWithLoader(folder, program)
    })
  } finally {
    await rm(work, { recursive: true, force: true })
  }
  const server = await cachedServer(cacheFolder, engine)
  if (server !== undefined) return server
  const orVersion = major === undefined ? '' : `, or is not version ${major}`
  throw new Error(`the fetched ${program} does not run here${orVersion}: ${WAY_OUT}`)
}

async function hasApt(env: NodeJS.ProcessEnv): Promise<boolean> {
  try {
    await promisify(execFile)('apt-get', ['--version'], { env })
    return true
  } catch {
    return false
  }
}

function runIn(work: string, env: NodeJS.ProcessEnv, program: string): Run {
  const options = { env: { ...env, LC_ALL: 'C' }, cwd: work, timeout: LONGEST_STEP_MS, maxBuffer: 2 ** 26 }
  return async (command, ...args) => {
    try {
      return (await promisify(execFile)(command, args, options)).stdout
    } catch (error) {
      // What apt printed names the machine's package servers, so it stays out of messages that end up in public logs.
      const { code } = error as { code?: string | number | null }
      throw new Error(`could not fetch ${program}, "${command} ${args[0]}" ended with ${code}: ${WAY_OUT}`)
    }
  }
}

async function unpack(run: Run, work: string, folder: string): Promise<void> {
  const packages = (await readdir(work)).filter((file) => file.endsWith('.deb'))
  for (const file of packages) await run('dpkg', '-x', file, folder)
}

/** Fills a folder beside the old one and then swaps, so that nobody ever sees half of it. */
async function replaceFolder(target: string, engine: Engine, fill: (folder: string) => Promise<void>): Promise<void> {
  await mkdir(dirname(target), { recursive: true })
  const folder = await mkdtemp(join(dirname(target), `${basename(target)}-`))
  try {
    await fill(folder)
    await rename(folder, target)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error
    // Another run may have finished first, and what it made is in use by now.
    if ((await cachedServer(target, engine)) !== undefined) return
    await rm(target, { recursive: true, force: true })
    await rename(folder, target)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const WAY_OUT = 'install one, or set SLUICE_REDIS_SERVER to the path of a server'
const LONGEST_STEP_MS = 300_000
