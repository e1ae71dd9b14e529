import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { ROOT } from './folders.mjs'
import { ruleModules, rulePages } from './lists.mjs'

/** Writes those of the lists of rules that have changed, and answers which. */
export async function writeRuleLists(root = ROOT) {
  const modules = written(ruleModules(root), root)
  return [...modules, ...written(rulePages(await readForms(root), root), root)]
}

function written(files, root) {
  const changed = Object.entries(files).filter(([file, text]) => readFileSync(join(root, file), 'utf8') !== text)
  for (const [file, text] of changed) writeFileSync(join(root, file), text)
  return changed.map(([file]) => file)
}

/** All forms, which are written in a language that not every Node reads. */
async function readForms(root) {
  const { outputFiles } = await build({
    entryPoints: [join(root, 'src/rules/forms.ts')],
    bundle: true,
    format: 'esm',
    write: false,
  })
  const text = Buffer.from(outputFiles[0].contents).toString('base64')
  return Object.values(await import(`data:text/javascript;base64,${text}`))
}
