import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { listedRules, ROOT } from './folders.mjs'
import { luaPage } from './lua-page.mjs'
import { tableText } from './table-text.mjs'

// An application that counts by one rule must not load the forms and examples of all, so `src/rules/index.ts` cannot name them. The
// lists that do are written from its lines.

const PAGE = 'docs/policies-file.md'
const LUA_PAGE = 'docs/lua.md'
const TABLE = /(?<=<!-- npm run scripts writes this table -->\n\n)[\s\S]*?(?=\n\n)/

/** The modules that follow from the lines of the registry, with their texts. */
export function ruleModules(root = ROOT) {
  return {
    'src/rules/forms.ts': exportsOf('form', root),
    'src/rules/worked-examples.ts': exportsOf('examples', root),
  }
}

/** The pages that follow from the forms and the scripts of all rules, with their texts. */
export function rulePages(forms, root = ROOT) {
  const page = readFileSync(join(root, PAGE), 'utf8')
  const [table] = TABLE.exec(page) ?? []
  if (table === undefined) throw new Error(`${PAGE} has lost the mark before its table of rules`)
  return {
    [PAGE]: page.replace(TABLE, () => tableOf(forms, table, root)),
    [LUA_PAGE]: luaPage(readFileSync(join(root, LUA_PAGE), 'utf8')),
  }
}

function exportsOf(part, root) {
  const lines = listedRules(root).map((name) => `export * from './${name}/${name}.${part}.ts'\n`)
  return `// Written by \`npm run scripts\` from the lines of index.ts.\n${lines.join('')}`
}

/** The rows of the page: those that it has in their order, and then new ones. */
function tableOf(forms, table, root) {
  const order = [...table.matchAll(/^\| `([\w-]+)` /gm)].map(([, name]) => name)
  const place = ({ name }) => (order.includes(name) ? order.indexOf(name) : order.length)
  const inOrder = [...forms].sort((one, other) => place(one) - place(other) || (one.name < other.name ? -1 : 1))
  return tableText(
    ['`rule`', 'needs', 'may have', ''],
    inOrder.map((form) => rowOf(form, root)),
  )
}

function rowOf(form, root) {
  const words = (isNeeded) =>
    form.fields
      .filter(({ example }) => (example !== undefined) === isNeeded)
      .map(({ kind, name }) => `\`${kind === 'duration' ? name.replace(/Ms$/, '') : name}\``)
      .join(', ')
  const folder = listedRules(root).find((name) => factoriesOf(name, root).includes(form.factory))
  const page = `../src/rules/${folder}/${folder}.md`
  const link = folder === form.name ? `[page](${page})` : `[the ${folder.replaceAll('-', ' ')}](${page})`
  return [`\`${form.name}\``, words(true), words(false), link]
}

function factoriesOf(name, root) {
  const text = readFileSync(join(root, `src/rules/${name}/${name}.ts`), 'utf8')
  return [...text.matchAll(/^export function (\w+)/gm)].map(([, factory]) => factory)
}
