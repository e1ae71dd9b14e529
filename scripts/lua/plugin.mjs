import { readManifest, readScript } from './catalog.mjs'
import { shareLines } from './share-lines.mjs'

const NAME = 'sluice:scripts'

/**
 * Makes `import { lines, scripts } from 'sluice:scripts'` the scripts of every version, in the build and in the tests alike, and puts the
 * newest beside what is built as plain files, `lua/sliding-window.lua`, unless `writesFiles` is false.
 */
export function luaScripts({ writesFiles = true } = {}) {
  return {
    name: 'sluice-lua-scripts',
    resolveId: (id) => (id === NAME ? `\0${NAME}` : undefined),
    load: (id) => (id === `\0${NAME}` ? writeModule() : undefined),
    generateBundle({ format }) {
      if (format !== 'es' || !writesFiles) return
      for (const [name, versions] of Object.entries(readManifest())) {
        const source = readScript(name, versions.at(-1))
        this.emitFile({ type: 'asset', fileName: `lua/${name}.lua`, source })
      }
    },
  }
}

function writeModule() {
  const entries = Object.entries(readManifest()).flatMap(([name, versions]) =>
    versions.map((entry) => ({ name, ...entry })),
  )
  const { lines, ranges } = shareLines(entries.map((entry) => readScript(entry.name, entry)))
  const scripts = entries.map(({ name, version, sha1, parameters }, index) => {
    return { name, version, sha1, parameters, ranges: ranges[index].join(' ') }
  })
  return `export const lines = ${JSON.stringify(lines)}\nexport const scripts = ${JSON.stringify(scripts)}`
}
