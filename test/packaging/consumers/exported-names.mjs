// The names that the package or subpath given as an argument exports to CommonJS and to ESM.
import { createRequire } from 'node:module'

const [specifier] = process.argv.slice(2)
const cjs = Object.keys(createRequire(import.meta.url)(specifier)).sort()
const esm = Object.keys(await import(specifier)).sort()
console.log(JSON.stringify({ esm, cjs }))
