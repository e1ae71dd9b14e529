// Hooks of Node's module loader, for `register`: files of TypeScript load as they are, and so do the Lua scripts.
import { luaScripts } from '../lua/plugin.mjs'
import { compile } from './compile.mjs'

const lua = luaScripts()

export function resolve(specifier, context, next) {
  const id = lua.resolveId(specifier)
  return id === undefined ? next(specifier, context) : { url: specifier, format: 'module', shortCircuit: true }
}

export async function load(url, context, next) {
  const id = lua.resolveId(url)
  if (id !== undefined) return { format: 'module', source: lua.load(id), shortCircuit: true }
  if (!url.endsWith('.ts')) return next(url, context)
  return { format: 'module', source: (await compile(url)).code, shortCircuit: true }
}
