import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { ROOT } from './pack.ts'
import { output } from './run.ts'

// Changesets sees only packages that `workspaces` names: without the root among them it knows no package to release.
it('a changeset becomes the next version of the package', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-version-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await mkdir(join(folder, '.changeset'))
  for (const file of ['package.json', '.changeset/config.json']) await copyFile(join(ROOT, file), join(folder, file))
  await writeFile(join(folder, '.changeset/one.md'), '---\n"sluice": major\n---\n\nOne change.\n')
  const before = await versionIn(folder)
  await output(process.execPath, [join(ROOT, 'node_modules/@changesets/cli/bin.js'), 'version'], folder)
  const after = await versionIn(folder)
  expect(after).toBe(`${Number.parseInt(before, 10) + 1}.0.0`)
  expect(await readFile(join(folder, 'CHANGELOG.md'), 'utf8')).toContain(
    `## ${after}\n\n### Major Changes\n\n- One change.`,
  )
})

async function versionIn(folder: string): Promise<string> {
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')).version
}
