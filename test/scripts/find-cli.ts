import { existsSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { wrapperPath, wrapWithLoader } from '../servers/own-loader.ts'
import type { ServerBinary } from '../servers/server-binary.ts'

/**
 * The command-line client of a server: beside it, among the packages that it was unpacked from, or on the `PATH`.
 * Rejects when there is none.
 */
export async function findCli({ path, env }: ServerBinary): Promise<ServerBinary> {
  const folder = dirname(path)
  const beside = NAMES.map((name) => join(folder, name)).find(existsSync)
  if (beside !== undefined) return { path: beside, env }
  const unpacked = NAMES.find((name) => existsSync(join(folder, 'usr/bin', name)))
  if (unpacked !== undefined) {
    // The server is a script that brings its own C library, and its client needs the same.
    await wrapWithLoader(folder, unpacked)
    return { path: wrapperPath(folder, unpacked), env }
  }
  const folders = (process.env.PATH ?? '').split(delimiter).filter((name) => name !== '')
  const onPath = NAMES.flatMap((name) => folders.map((other) => join(other, name))).find(existsSync)
  if (onPath !== undefined) return { path: onPath, env: {} }
  throw new Error(`no ${NAMES.join(' or ')} beside ${path} or on the PATH: install redis-tools, or brew install redis`)
}

const NAMES = ['redis-cli', 'valkey-cli']
