import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/** Everything that a module below src/ exports. It is written in a language that not every Node reads. */
export async function loadSource(file, root = fileURLToPath(new URL('../', import.meta.url))) {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [`src/${file}`],
    bundle: true,
    format: 'esm',
    write: false,
  })
  const text = Buffer.from(outputFiles[0].contents).toString('base64')
  return import(`data:text/javascript;base64,${text}`)
}
