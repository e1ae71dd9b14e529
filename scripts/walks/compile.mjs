import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { transform } from 'esbuild'

/** A TypeScript file without its types, function for function as written, and the map from there to its lines. */
export async function compile(url) {
  const text = await readFile(fileURLToPath(url), 'utf8')
  const { code, map } = await transform(text, { loader: 'ts', target: 'node20.10', sourcemap: 'external' })
  return { code, map }
}
