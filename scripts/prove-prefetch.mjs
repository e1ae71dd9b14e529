// Plays processes that prefetch against the real engine on virtual time, and puts all that they admit to the rule itself.
//
// npm run prove:prefetch              40 schedules of every kind and rule, in about ten minutes
// npm run prove:prefetch -- 400       400 of them
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const { outputFiles } = await build({
  absWorkingDir: fileURLToPath(new URL('../', import.meta.url)),
  entryPoints: ['test/prove/prove.ts'],
  bundle: true,
  format: 'esm',
  platform: 'node',
  write: false,
})
const text = Buffer.from(outputFiles[0].contents).toString('base64')
const { prove } = await import(`data:text/javascript;base64,${text}`)
const isProved = prove(Number(process.argv[2] ?? 40), (line) => process.stdout.write(`${line}\n`))
if (!isProved) process.exitCode = 1
