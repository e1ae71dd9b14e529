import { readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** The folders with libraries below `folder`, absolute. Where they are depends on the processor, so look. */
export async function libraryFolders(folder: string): Promise<string[]> {
  const files = await readdir(folder, { recursive: true })
  const libraries = files.filter((file) => /\.so(\.|$)/.test(file))
  return [...new Set(libraries.map((file) => join(folder, dirname(file))))]
}
