import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { ROOT } from './pack.ts'
import { type Ran, run } from './run.ts'

/** An application that had its packages before it installed ours. */
export interface Application {
  readonly folder: string
  /** What `npm install` of the package said. */
  readonly installing: Ran
  remove(): Promise<void>
}

/**
 * Installs the packed package of `packed` into an application that has `packages`: the folders of this repository that hold them, by the names that
 * the application has for them. Needs no network.
 */
export async function installBeside(packed: string, packages: Readonly<Record<string, string>>): Promise<Application> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-beside-'))
  const dependencies: Record<string, string> = {}
  const copied = new Map<string, string>()
  for (const [name, source] of Object.entries(packages)) {
    dependencies[name] = await versionOf(join(ROOT, source))
    copied.set(name, join(ROOT, source))
  }
  for (const name of Object.keys(packages)) await copyWithNeeds(name, copied.get(name) as string, folder, copied)
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }))
  const tarball = join(packed, `sluice-${manifest.version}.tgz`)
  const args = ['install', tarball, '--offline', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock']
  const installing = await run('npm', args, folder)
  return { folder, installing, remove: () => rm(folder, { recursive: true }) }
}

async function versionOf(folder: string): Promise<string> {
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')).version
}

/**
 * Copies a package that this repository has, and all that it needs, into the folder's own `node_modules`. A second version of a package goes
 * below the one that needs it, as npm would have put it.
 */
async function copyWithNeeds(name: string, source: string, folder: string, copied: Map<string, string>): Promise<void> {
  copied.set(name, source)
  const target = join(folder, 'node_modules', name)
  await cp(source, target, { recursive: true })
  await copyNeeds(source, source, { target, folder, copied })
}

interface Copying {
  readonly target: string
  readonly folder: string
  readonly copied: Map<string, string>
}

/** Copies what `user` needs, which is the package `source` or lies below it. */
async function copyNeeds(user: string, source: string, copying: Copying): Promise<void> {
  const { target, folder, copied } = copying
  const {
    dependencies = {},
    peerDependencies = {},
    peerDependenciesMeta = {},
  } = JSON.parse(await readFile(join(user, 'package.json'), 'utf8'))
  const peers = Object.keys(peerDependencies).filter((peer) => peerDependenciesMeta[peer]?.optional !== true)
  // A peer is whatever the application has.
  const needs = [...Object.keys(dependencies), ...peers.filter((peer) => !copied.has(peer))]
  for (const need of needs) {
    const from = await nearest(need, user)
    if (copied.get(need) === from || copied.has(from)) continue
    if (from.startsWith(`${source}/`)) {
      // It came along; what it needs did not.
      copied.set(from, from)
      await copyNeeds(from, source, copying)
    } else if (copied.has(need)) await copyWithNeeds(need, from, target, new Map(copied))
    else await copyWithNeeds(need, from, folder, copied)
  }
}

/** The folder of a package as one of its users finds it. */
async function nearest(name: string, from: string): Promise<string> {
  const folder = join(from, 'node_modules', name)
  const isThere = await versionOf(folder).then(
    () => true,
    () => false,
  )
  return isThere ? folder : nearest(name, dirname(from))
}
