// What each module costs in a bundle, minified: its own bytes, and the bytes by which the gzipped bundle shrinks without them.
//
//   node scripts/size-parts.mjs [limiter | express | redis] [rows]     (30 rows of express; `npm run size` checks the limits)

import { SourceMap } from 'node:module'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { luaScripts } from './lua/plugin.mjs'

const LIMITER = `export { createLimiter, slidingWindow } from './src/index.ts'\n`
const EXPRESS = `${LIMITER}export { rateLimit } from './src/adapters/express/index.ts'\n`
const ENTRIES = {
  limiter: LIMITER,
  express: EXPRESS,
  redis: `${EXPRESS}export { redisStore } from './src/stores/redis/index.ts'\n`,
}

const [name = 'express', rows = '30'] = process.argv.slice(2)
const { code, map } = await bundle(ENTRIES[name])
const parts = splitByModule(code, map)
const whole = gzipSync(code).length
const table = [...parts]
  .map(([module, ranges]) => ({ module, ...measure(code, ranges, whole) }))
  .sort((one, other) => other.gzipped - one.gzipped)
console.log(`${name}: ${code.length} bytes minified, ${whole} gzipped, ${parts.size} modules\n`)
console.log('| module | minified | gzipped |\n| --- | ---: | ---: |')
for (const { module, minified, gzipped } of table.slice(0, Number(rows))) {
  console.log(`| ${module} | ${minified} | ${gzipped} |`)
}

async function bundle(contents) {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: process.cwd() },
    bundle: true,
    minify: true,
    format: 'esm',
    write: false,
    sourcemap: 'external',
    outfile: 'bundle.mjs',
    external: ['node:*'],
    plugins: [{ name: 'scripts', setup: setupScripts }],
  })
  const [mapFile, codeFile] = outputFiles
  return { code: codeFile.text, map: JSON.parse(mapFile.text) }
}

function setupScripts(context) {
  const plugin = luaScripts({ writesFiles: false })
  context.onResolve({ filter: /^sluice:scripts$/ }, () => ({ path: 'scripts', namespace: 'sluice' }))
  context.onLoad({ filter: /.*/, namespace: 'sluice' }, () => ({
    contents: plugin.load(plugin.resolveId('sluice:scripts')),
  }))
}

/** The ranges of the code that come from each module. */
function splitByModule(code, map) {
  const ranges = new Map()
  const origins = new SourceMap(map)
  let last
  let offset = 0
  for (const [index, line] of code.split('\n').entries()) {
    for (let column = 0; column <= line.length; column++) {
      const module = origins.findEntry(index, column).originalSource ?? 'bundle'
      if (module !== last?.module) {
        last = { module, range: [offset + column, 0] }
        ranges.set(module, [...(ranges.get(module) ?? []), last.range])
      }
      last.range[1] = offset + column + 1
    }
    offset += line.length + 1
  }
  return ranges
}

function measure(code, ranges, whole) {
  let rest = ''
  let at = 0
  let minified = 0
  for (const [start, end] of ranges) {
    rest += code.slice(at, start)
    minified += end - start
    at = end
  }
  return { minified, gzipped: whole - gzipSync(rest + code.slice(at)).length }
}
