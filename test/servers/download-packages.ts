import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Engine } from './engine.ts'

/** Runs a command in the folder of a download and gives what it prints. Rejects when it fails. */
export type Run = (command: string, ...args: string[]) => Promise<string>

/**
 * Leaves in `work` the packages that the engine's program needs: those that this machine lacks, or with a suite of its
 * own all of them, because its libraries and the machine's are not of one kind.
 * apt's lists are kept there too: the machine's may be empty, stale or not ours to write.
 */
export async function downloadPackages(run: Run, work: string, engine: Engine): Promise<void> {
  const { program, suite, packages: wanted = [program] } = engine
  await mkdir(join(work, 'state/lists/partial'), { recursive: true })
  await mkdir(join(work, 'cache/archives/partial'), { recursive: true })
  const options = ['-qq', `-oDir::State=${work}/state`, `-oDir::Cache=${work}/cache`, '-oAcquire::Retries=3']
  await run('apt-get', 'update', ...options)
  if (suite !== undefined) {
    const address = await debianAddress(run, options)
    if (address === undefined) {
      throw new Error(
        `could not fetch ${program}, this machine gets no packages from Debian, whose suite ${suite} has it`,
      )
    }
    options.push(...(await optionsForSuite(work, address, suite)))
    await run('apt-get', 'update', ...options)
  }
  const plan = await run('apt-get', 'install', '--simulate', '--no-install-recommends', ...wanted, ...options)
  const packages = [...plan.matchAll(/^Inst (\S+)/gm)].map(([, name]) => name as string)
  console.info(`fetching ${program} and what it needs, ${packages.length} packages, into .cache, once`)
  await run('apt-get', 'download', ...packages, ...options)
}

/** Where the machine gets its own packages from, when they are Debian's. Stays in `work` and out of every message. */
async function debianAddress(run: Run, options: readonly string[]): Promise<string | undefined> {
  const isDebian = ['Created-By: Packages', 'Origin: Debian', 'Label: Debian']
  const addresses = await run('apt-get', 'indextargets', '--format', '$(REPO_URI)', ...isDebian, ...options)
  return addresses.split('\n').find((address) => address !== '')
}

/** Makes apt see nothing but `suite`, and nothing installed. */
async function optionsForSuite(work: string, address: string, suite: string): Promise<string[]> {
  const sources = join(work, 'sources.list')
  const installed = join(work, 'status')
  await writeFile(sources, `deb [signed-by=${DEBIAN_KEYS}] ${address} ${suite} main\n`)
  await writeFile(installed, '')
  return [`-oDir::Etc::sourcelist=${sources}`, '-oDir::Etc::sourceparts=-', `-oDir::State::status=${installed}`]
}

// Where Debian's own package puts the keys of all its suites.
const DEBIAN_KEYS = '/usr/share/keyrings/debian-archive-keyring.gpg'
