// Writes what follows from the folders of the rules: `npm run scripts`. First the lists of rules, then the manifest of the scripts. A text
// that differs from the last one becomes the next version, unless that version was never released: then it takes its place.
// `--release` keeps the texts of the present versions, for good.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assemble, parameterNames, scriptNames } from './lua/assemble.mjs'
import { FOLDER, RELEASED, readManifest, readScript, sha1Of } from './lua/catalog.mjs'
import { writeRuleLists } from './rules/write-lists.mjs'

for (const file of await writeRuleLists()) console.log(`wrote ${file}`)

const manifest = readManifest()
for (const name of scriptNames()) {
  manifest[name] ??= []
  const versions = manifest[name]
  const last = versions.at(-1)
  if (last !== undefined && sha1Of(assemble(name, last.version)) === last.sha1) continue
  const next = last === undefined ? 1 : last.released ? last.version + 1 : last.version
  if (next === last?.version) versions.pop()
  versions.push({
    version: next,
    sha1: sha1Of(assemble(name, next)),
    released: false,
    parameters: parameterNames(name),
  })
  console.log(`noted ${name}, version ${next}`)
}
// In the order of the names, wherever a new rule is among them. What was released and is a script no more comes last.
const names = new Set([...scriptNames(), ...Object.keys(manifest).filter((name) => manifest[name].some(isReleased))])
const sorted = Object.fromEntries([...names].map((name) => [name, manifest[name]]))
if (process.argv.includes('--release')) release(sorted)
writeFileSync(join(FOLDER, 'manifest.json'), `${JSON.stringify(sorted, null, 2)}\n`)

function isReleased({ released }) {
  return released
}

function release(scripts) {
  mkdirSync(RELEASED, { recursive: true })
  for (const [name, versions] of Object.entries(scripts)) {
    for (const entry of versions.filter((version) => !version.released)) {
      writeFileSync(join(RELEASED, `${name}@${entry.version}.lua`), readScript(name, entry))
      entry.released = true
    }
  }
}
