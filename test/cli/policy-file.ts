import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Writes a file that is gone after the test, and gives its path. */
export async function writePolicies(text: string, name = 'limits.yaml'): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-cli-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, name)
  await writeFile(path, text)
  return path
}
