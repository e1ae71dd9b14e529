// Writes `exports` and `typesVersions` of package.json from the entries in tsconfig.json, where they are named once: npm run exports
//
// Compilers and bundlers that know `exports` read those. TypeScript with `moduleResolution: node` does not: it finds the types of a
// subpath by `typesVersions`.
import { readFileSync, writeFileSync } from 'node:fs'

const root = new URL('../', import.meta.url)
const { paths } = JSON.parse(readFileSync(new URL('tsconfig.json', root), 'utf8')).compilerOptions
const file = new URL('package.json', root)
const manifest = JSON.parse(readFileSync(file, 'utf8'))
const subpaths = Object.keys(paths).map((name) => name.split('/')[1])

manifest.exports = {
  ...Object.fromEntries(
    subpaths.map((name) => [name === undefined ? '.' : `./${name}`, conditionsOf(name ?? 'index')]),
  ),
  './lua/*.lua': './dist/lua/*.lua',
  './package.json': './package.json',
  './policies.schema.json': './dist/policies.schema.json',
}
const named = subpaths.filter((name) => name !== undefined)
manifest.typesVersions = { '*': Object.fromEntries(named.map((name) => [name, [`./dist/${name}.d.cts`]])) }
writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`)

function conditionsOf(entry) {
  return {
    import: { types: `./dist/${entry}.d.mts`, default: `./dist/${entry}.mjs` },
    require: { types: `./dist/${entry}.d.cts`, default: `./dist/${entry}.cjs` },
  }
}
