// Begins a rule: `npm run new-rule -- cooldown`. Writes its folder from the templates, its line in src/rules/index.ts, and what
// `npm run scripts` makes of both; then it names what is left to write.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { missingIn, ROOT, RULE_FILES } from './rules/folders.mjs'
import { lineAdded, nameProblem, templateFor } from './rules/new-folder.mjs'

const [name, ...others] = process.argv.slice(2)
const problem = others.length > 0 ? 'one name at a time, such as npm run new-rule -- cooldown' : nameProblem(name)
if (problem !== undefined) {
  console.error(`new-rule: ${problem}`)
  process.exit(2)
}

const folder = `src/rules/${name}`
const index = 'src/rules/index.ts'
mkdirSync(join(ROOT, folder))
for (const ending of Object.keys(RULE_FILES)) {
  writeFileSync(join(ROOT, folder, `${name}${ending}`), templateFor(name, ending))
}
writeFileSync(join(ROOT, index), lineAdded(name, readFileSync(join(ROOT, index), 'utf8')))
// How long a line is depends on the name.
const biome = join(ROOT, 'node_modules/@biomejs/biome/bin/biome')
const { status, stderr } = spawnSync(process.execPath, [biome, 'check', '--write', folder, index], { cwd: ROOT })
if (status !== 0) throw new Error(`Biome did not take what was written: ${stderr}`)
console.log(`wrote ${folder}, ${Object.keys(RULE_FILES).length} files, and its line in ${index}`)
await import('./write-scripts.mjs')
console.log(`\nLeft to write; npx vitest run --project unit test/rule-folders lists it again:\n`)
for (const place of missingIn(name)) console.log(`  ${place}`)
console.log('\nThen npm run scripts, and CONTRIBUTING.md, "A new rule", says what checks it.')
