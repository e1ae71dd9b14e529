import { readFileSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Application } from 'typedoc'
import { load as markdown } from 'typedoc-plugin-markdown'

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
await app.generateOutputs(app.converter.convert(points))
if (app.logger.hasErrors()) process.exitCode = 1
