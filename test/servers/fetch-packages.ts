import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { downloadPackages, type Run } from './download-packages.ts'
import type { Engine } from './engine.ts'

/** What is to be fetched, and what to do with it. */
export interface Wanted {
  /** The package, and where it is. */
  readonly engine: Engine
  /** What messages advise when it cannot be had. */
  readonly wayOut: string
  /** Completes a folder before it takes its place. @default nothing is missing */
  finish?(folder: string): Promise<void>
  /** Whether what is in `target` will do: another run may have been faster. */
  isUsable(): Promise<boolean>
}

/** Whether packages can be fetched at all. */
export async function hasApt(env: NodeJS.ProcessEnv): Promise<boolean> {
  try {
    await promisify(execFile)('apt-get', ['--version'], { env })
    return true
  } catch {
    return false
  }
}

/**
 * Downloads a package, with the libraries that it needs, and unpacks it into `target`. Installs nothing and needs no root, so no service
 * is started and the machine stays as it is.
 */
export async function fetchPackages(env: NodeJS.ProcessEnv, target: string, wanted: Wanted): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'sluice-apt-'))
  const run = runIn(work, env, wanted)
  try {
    // apt gives up its rights as root, and then has to be able to enter the folder.
    await chmod(work, 0o755)
    await downloadPackages(run, work, wanted.engine)
    await replaceFolder(target, wanted, async (folder) => {
      await unpack(run, work, folder)
      await wanted.finish?.(folder)
    })
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

function runIn(work: string, env: NodeJS.ProcessEnv, { engine: { program }, wayOut }: Wanted): Run {
  const options = { env: { ...env, LC_ALL: 'C' }, cwd: work, timeout: LONGEST_STEP_MS, maxBuffer: 2 ** 26 }
  return async (command, ...args) => {
    try {
      return (await promisify(execFile)(command, args, options)).stdout
    } catch (error) {
      // What apt printed names the machine's package servers, so it stays out of messages that end up in public logs.
      const { code } = error as { code?: string | number | null }
      throw new Error(`could not fetch ${program}, "${command} ${args[0]}" ended with ${code}: ${wayOut}`)
    }
  }
}

async function unpack(run: Run, work: string, folder: string): Promise<void> {
  const packages = (await readdir(work)).filter((file) => file.endsWith('.deb'))
  for (const file of packages) await run('dpkg', '-x', file, folder)
}

/** Fills a folder beside the old one and then swaps, so that no process ever sees half of it. */
async function replaceFolder(target: string, wanted: Wanted, fill: (folder: string) => Promise<void>): Promise<void> {
  await mkdir(dirname(target), { recursive: true })
  const folder = await mkdtemp(join(dirname(target), `${basename(target)}-`))
  try {
    await fill(folder)
    await rename(folder, target)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error
    // Another run may have finished first, and what it made is in use by now.
    if (await wanted.isUsable()) return
    await rm(target, { recursive: true, force: true })
    await rename(folder, target)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const LONGEST_STEP_MS = 300_000
