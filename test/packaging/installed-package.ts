import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { share } from '../shared.ts'

/** A project of the test file's own that has installed the packed package, what it depends on, and nothing else. */
export interface InstalledPackage {
  /** The project, with the tarball, `decisions.mjs` and the other consumers in it. */
  readonly folder: string
  /** What the tarball holds, relative to the package. */
  readonly files: readonly string[]
  remove(): Promise<void>
}

/** Copies the project in which the package was installed once for all test files. */
export async function installPackage(): Promise<InstalledPackage> {
  const { folder: packed, files } = await share('package', 'once')
  const folder = await mkdtemp(join(tmpdir(), 'sluice-packaging-'))
  await cp(packed, folder, { recursive: true, verbatimSymlinks: true })
  return { folder, files, remove: () => rm(folder, { recursive: true }) }
}
