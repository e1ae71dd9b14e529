import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadSource } from '../load-source.mjs'
import { ROOT } from './folders.mjs'
import { ruleModules, rulePages } from './lists.mjs'

/** Writes those of the lists of rules that have changed, and answers which. */
export async function writeRuleLists(root = ROOT) {
  const modules = written(ruleModules(root), root)
  const forms = Object.values(await loadSource('rules/forms.ts', root))
  return [...modules, ...written(rulePages(forms, root), root)]
}

function written(files, root) {
  const changed = Object.entries(files).filter(([file, text]) => readFileSync(join(root, file), 'utf8') !== text)
  for (const [file, text] of changed) writeFileSync(join(root, file), text)
  return changed.map(([file]) => file)
}
