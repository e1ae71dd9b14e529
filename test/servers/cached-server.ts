import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { type ServerBinary, whyUnusable } from './server-binary.ts'

/** The server in a folder of unpacked packages, or `undefined` when there is none that runs. */
export async function cachedServer(folder: string): Promise<ServerBinary | undefined> {
  const path = join(folder, 'usr/bin/redis-server')
  if (!existsSync(path)) return undefined
  const server = { path, env: { LD_LIBRARY_PATH: (await libraryFolders(folder)).join(delimiter) } }
  return (await whyUnusable(server)) === undefined ? server : undefined
}

/** Where the libraries lie depends on the processor, so look instead of spelling it. */
async function libraryFolders(folder: string): Promise<string[]> {
  const files = await readdir(folder, { recursive: true })
  const libraries = files.filter((file) => /\.so(\.|$)/.test(file))
  return [...new Set(libraries.map((file) => join(folder, dirname(file))))]
}
