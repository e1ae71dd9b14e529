import { access } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

/** The folder of the page beside the built program; `undefined` where it was not built, as in the sources. */
export async function findPageFolder(program: string): Promise<string | undefined> {
  const folder = fileURLToPath(new URL('../page/', program))
  try {
    await access(new URL('../page/index.html', program))
    return folder
  } catch {
    return undefined
  }
}
