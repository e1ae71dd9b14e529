import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Engine } from './engine.ts'
import { libraryFolders } from './library-folders.ts'
import { wrapperPath } from './own-loader.ts'
import { type ServerBinary, whyUnusable } from './server-binary.ts'

/** The server in a folder of unpacked packages, or `undefined` when there is none that runs and is the engine's. */
export async function cachedServer(folder: string, { program, major }: Engine): Promise<ServerBinary | undefined> {
  const wrapper = wrapperPath(folder, program)
  const path = join(folder, 'usr/bin', program)
  if (!existsSync(path)) return undefined
  const server = existsSync(wrapper)
    ? { path: wrapper, env: {} }
    : { path, env: { LD_LIBRARY_PATH: (await libraryFolders(folder)).join(delimiter) } }
  return (await whyUnusable(server, major)) === undefined ? server : undefined
}
