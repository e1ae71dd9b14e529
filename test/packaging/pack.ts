import { existsSync } from 'node:fs'
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { output } from './run.ts'

/** The root of the repository. */
export const ROOT: string = fileURLToPath(new URL('../../', import.meta.url))

const CONSUMERS = [
  new URL('./consumers/decisions.mjs', import.meta.url),
  new URL('./consumers/decisions.cjs', import.meta.url),
  new URL('./consumers/exported-names.mjs', import.meta.url),
]

/** A project outside of the repository that has installed the packed package and nothing else. */
export interface PackedPackage {
  /** The project, with the tarball, `decisions.mjs` and the other consumers in it. */
  readonly folder: string
  /** What the tarball holds, relative to the package. */
  readonly files: readonly string[]
  /** Removes the project. */
  stop(): Promise<void>
}

/** Packs what was built and installs the tarball, without network and without running scripts. */
export async function packPackage(): Promise<PackedPackage> {
  if (!existsSync(join(ROOT, 'dist/index.mjs'))) throw new Error('dist is empty: npm run build comes first')
  const folder = await mkdtemp(join(tmpdir(), 'sluice-packaging-'))
  const pack = ['pack', '.', '--ignore-scripts', '--json', '--pack-destination', folder]
  const packed = JSON.parse(await output('npm', pack, ROOT)) as { filename: string; files: { path: string }[] }[]
  const [tarball] = packed as [(typeof packed)[number]]
  for (const consumer of CONSUMERS) await copyFile(consumer, join(folder, basename(consumer.pathname)))
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true }))
  const install = ['install', `./${tarball.filename}`, '--offline', '--ignore-scripts', '--no-audit', '--no-fund']
  await output('npm', install, folder)
  return {
    folder,
    files: tarball.files.map((file) => file.path),
    stop: () => rm(folder, { recursive: true }),
  }
}
