import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Application } from 'typedoc'
import { load as markdown } from 'typedoc-plugin-markdown'
import { composeIndex } from './api-index.mjs'

// Writes a page for every entry of the package, from its types and their comments, for the docs site: npm run docs:api

const root = fileURLToPath(new URL('..', import.meta.url))
const out = `${root}docs/api`
// Named once, as for build and tests.
const { paths } = JSON.parse(readFileSync(`${root}tsconfig.json`, 'utf8')).compilerOptions
const entries = Object.entries(paths).map(([name, [file]]) => ({ name, file }))

const app = await Application.bootstrapWithPlugins({
  plugin: [markdown],
  outputs: [{ name: 'markdown', path: out }],
  // TypeDoc would empty whatever folder it writes to. Only ours is emptied, below.
  cleanOutputDir: false,
  name: 'Sluice',
  tsconfig: `${root}tsconfig.json`,
  basePath: root,
  entryPoints: entries.map(({ file }) => `${root}${file}`),
  // The types are checked by `npm run types`; here that would only take time.
  skipErrorChecking: true,
  readme: 'none',
  router: 'module',
  disableSources: true,
  excludeInternal: true,
  excludePrivate: true,
  excludeExternals: true,
  hideBreadcrumbs: true,
  hidePageHeader: true,
  entryFileName: 'index',
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  typeAliasPropertiesFormat: 'table',
  tableColumnSettings: { hideModifiers: true, hideInherited: true, hideOverrides: true },
  groupOrder: ['Functions', 'Classes', 'Interfaces', 'Type Aliases', 'Variables', '*'],
  useCodeBlocks: true,
  // Its own numbers of equal names are not those of the headings.
  useHTMLAnchors: true,
  logLevel: 'Warn',
})
const points = app.getEntryPoints()
if (points?.length !== entries.length) throw new Error('an entry of tsconfig.json cannot be read: npm run types')
for (const [index, point] of points.entries()) point.displayName = entries[index].name
rmSync(out, { recursive: true, force: true })
const project = app.converter.convert(points)
// Only while it renders TypeDoc knows where each name is.
app.renderer.on('endRender', () => writeFileSync(`${out}/index.md`, composeIndex(project, app.renderer.router)))
await app.generateOutputs(project)
nameAfterEntries()
if (app.logger.hasErrors()) process.exitCode = 1

/** TypeDoc numbers the page `sluice/store`, because the entry `sluice` has a `Store`. The page gets the name of its entry. */
function nameAfterEntries() {
  renameSync(`${out}/sluice/store-1.md`, `${out}/sluice/store.md`)
  for (const file of readdirSync(out, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md'))) {
    const text = readFileSync(`${out}/${file}`, 'utf8')
    if (text.includes('store-1.md')) writeFileSync(`${out}/${file}`, text.replaceAll('store-1.md', 'store.md'))
  }
}
