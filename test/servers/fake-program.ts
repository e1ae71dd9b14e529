import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Writes a shell script to `path`, with the folders above it, and gives the path. @param mode by default executable */
export async function fakeProgram(path: string, body: string, mode = 0o755): Promise<string> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, `#!/bin/sh\n${body}\n`, { mode })
  return path
}
