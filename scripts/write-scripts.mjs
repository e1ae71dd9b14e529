// Writes what follows from the folders of the rules: `npm run scripts`. First the lists of rules, then the script of each. A text that
// differs from the last one becomes the next version, unless that version was never released: then it takes its place. `--release`
// marks the present versions as released, for good.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { argumentNames, assemble, scriptNames } from './lua/assemble.mjs'
import { FOLDER, readManifest, sha1Of } from './lua/catalog.mjs'
import { writeRuleLists } from './rules/write-lists.mjs'

for (const file of await writeRuleLists()) console.log(`wrote ${file}`)

mkdirSync(FOLDER, { recursive: true })
const manifest = readManifest()
for (const name of scriptNames()) {
  manifest[name] ??= []
  const versions = manifest[name]
  const last = versions.at(-1)
  if (last !== undefined && sha1Of(assemble(name, last.version)) === last.sha1) continue
  const next = last === undefined ? 1 : last.released ? last.version + 1 : last.version
  if (next === last?.version) versions.pop()
  const text = assemble(name, next)
  versions.push({ version: next, sha1: sha1Of(text), released: false, ...argumentNames(name) })
  writeFileSync(join(FOLDER, `${name}@${next}.lua`), text)
  console.log(`wrote ${name}, version ${next}`)
}
if (process.argv.includes('--release')) for (const version of Object.values(manifest).flat()) version.released = true
// In the order of the names, wherever a new rule is among them. What was released and is a rule no more comes last.
const names = new Set([...scriptNames(), ...Object.keys(manifest)])
const sorted = Object.fromEntries([...names].map((name) => [name, manifest[name]]))
writeFileSync(join(FOLDER, 'manifest.json'), `${JSON.stringify(sorted, null, 2)}\n`)
