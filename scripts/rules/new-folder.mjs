import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Script } from 'node:vm'
import { ROOT, ruleFolders } from './folders.mjs'

const TEMPLATES = join(ROOT, 'scripts/rules/template')
const NAME = /^[a-z][a-z0-9]*(?:-[a-z][a-z0-9]*)*$/

/** Why a rule cannot have this name, in a sentence. `undefined` when it can. */
export function nameProblem(name) {
  if (name === undefined) return 'a rule needs a name, such as npm run new-rule -- cooldown'
  if (!NAME.test(name) || name.length > 40) {
    return `a name is at most 40 lower-case letters and digits with hyphens between words, such as quiet-time, got ${JSON.stringify(name)}`
  }
  if (ruleFolders().includes(name)) return `there is a rule ${name} already, in src/rules/${name}`
  // The scripts that are not a rule's own have these names.
  if (name === 'tiers' || name === 'sluice') return `the name ${name} is that of a script: choose another one`
  const { camel, pascal } = wordsOf(name)
  if (!isIdentifier(camel)) return `a function cannot be called ${camel}: choose another name`
  const taken = takenNames().find((word) => [camel, pascal, `${pascal}Options`, name].includes(word))
  return taken === undefined ? undefined : `the name ${taken} is taken already: choose another one`
}

/** The text of one file of a new rule. */
export function templateFor(name, ending) {
  const { camel, pascal, spoken, title } = wordsOf(name)
  const text = readFileSync(join(TEMPLATES, `new-rule${ending}.txt`), 'utf8')
  return text
    .replaceAll('new-rule', name)
    .replaceAll('newRule', camel)
    .replaceAll('NewRule', pascal)
    .replaceAll('new rule', spoken)
    .replaceAll('New rule', title)
}

/** The registry with one more line, in order. */
export function lineAdded(name, registry) {
  const lines = [...registry.trimEnd().split('\n'), `export * from './${name}/${name}.ts'`]
  return `${lines.sort().join('\n')}\n`
}

function wordsOf(name) {
  const spoken = name.replaceAll('-', ' ')
  const camel = name.replace(/-(.)/g, (_, letter) => letter.toUpperCase())
  const capital = (text) => text[0].toUpperCase() + text.slice(1)
  return { spoken, camel, pascal: capital(camel), title: capital(spoken) }
}

/** Every name that the package exports, and every one that a form has. */
function takenNames() {
  const entry = readFileSync(join(ROOT, 'src/index.ts'), 'utf8')
  const exported = [...entry.matchAll(/[\w$]+/g)].map(([word]) => word)
  const inFolders = ruleFolders().flatMap((folder) =>
    readdirSync(join(ROOT, 'src/rules', folder))
      .filter((file) => file === `${folder}.ts` || file === `${folder}.form.ts`)
      .map((file) => readFileSync(join(ROOT, 'src/rules', folder, file), 'utf8'))
      .flatMap((text) => [...text.matchAll(/^export \w+ (\w+)|^ {2}name: '([\w-]+)'/gm)])
      .map(([, word, form]) => word ?? form),
  )
  return [...exported, ...inFolders]
}

function isIdentifier(word) {
  try {
    return new Script(`'use strict'; const ${word} = 0`) !== undefined
  } catch {
    return false
  }
}
