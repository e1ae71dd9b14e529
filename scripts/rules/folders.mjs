import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The repository. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** What stands in a file where a person has to write something. */
const OPEN = 'FILL IN: '

/** What the folder of a rule holds: how each file ends, and what it is for. */
export const RULE_FILES = {
  '.ts': 'the options and the factory',
  '.memory.ts': 'the step',
  '.lua': 'the same step in Lua',
  '.form.ts': 'the form for files of policies, the command line, the simulator and the page',
  '.examples.ts': 'the worked examples',
  '.promises.ts': 'the bound, and random configurations',
  '.samples.ts': 'how the tests of all rules make this one',
  '.test.ts': 'the tests',
  '.md': 'the page',
}

/** The names of all rules by their folders, in order. */
export function ruleFolders(root = ROOT) {
  return readdirSync(join(root, 'src/rules'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort()
}

/** The names of all rules that `src/rules/index.ts` has a line for. This is the registry: all other lists come from it. */
export function listedRules(root = ROOT) {
  const text = readFileSync(join(root, 'src/rules/index.ts'), 'utf8')
  return [...text.matchAll(/^export \* from '\.\/([\w-]+)\/\1\.ts'$/gm)].map(([, name]) => name)
}

/** What the folder of a rule still lacks, a sentence each: files, the line of the registry, and what is to be filled in. */
export function missingIn(name, root = ROOT) {
  const problems = listedRules(root).includes(name)
    ? []
    : [`src/rules/index.ts lacks the line export * from './${name}/${name}.ts'`]
  for (const [ending, purpose] of Object.entries(RULE_FILES)) {
    const file = `src/rules/${name}/${name}${ending}`
    if (!existsSync(join(root, file))) problems.push(`${file} is missing: ${purpose}`)
    else problems.push(...openPlaces(file, readFileSync(join(root, file), 'utf8')))
  }
  return problems
}

function openPlaces(file, text) {
  return text.split('\n').flatMap((line, index) => {
    const at = line.indexOf(OPEN)
    return at < 0 ? [] : [`${file}:${index + 1}: ${line.slice(at + OPEN.length).replace(/\W*$/, '')}`]
  })
}
