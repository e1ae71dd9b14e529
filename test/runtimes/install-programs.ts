import { cp, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type InstalledPackage, installPackage } from '../packaging/installed-package.ts'
import { ROOT } from '../packaging/pack.ts'

const PROGRAMS = fileURLToPath(new URL('./programs/', import.meta.url))

/** A project that has installed the packed package, Hono and the Redis clients, with the programs that other runtimes run. */
export async function installPrograms(): Promise<InstalledPackage> {
  const installed = await installPackage()
  await cp(PROGRAMS, installed.folder, { recursive: true })
  for (const name of ['hono', 'ioredis', 'redis']) {
    await symlink(join(ROOT, 'node_modules', name), join(installed.folder, 'node_modules', name))
  }
  return installed
}
