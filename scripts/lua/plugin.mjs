import { readManifest, readScript } from './catalog.mjs'
import { minify } from './minify.mjs'
import { shareLines } from './share-lines.mjs'

const NAME = 'sluice:scripts'

/**
 * Makes `import { lines, scripts } from 'sluice:scripts'` the scripts of every version as servers run them, in the build and in the tests alike,
 * and puts them as people read them beside what is built, `lua/sliding-window.lua`, unless `writesFiles` is false. Versions before the newest have
 * their number in the name, `lua/sliding-window@1.lua`.
 */
export function luaScripts({ writesFiles = true } = {}) {
  return {
    name: 'sluice-lua-scripts',
    resolveId: (id) => (id === NAME ? `\0${NAME}` : undefined),
    load: (id) => (id === `\0${NAME}` ? writeModule() : undefined),
    generateBundle({ format }) {
      if (format !== 'es' || !writesFiles) return
      for (const [name, versions] of Object.entries(readManifest())) {
        for (const entry of versions) {
          const label = entry === versions.at(-1) ? name : `${name}@${entry.version}`
          this.emitFile({ type: 'asset', fileName: `lua/${label}.lua`, source: readScript(name, entry) })
        }
      }
    },
  }
}

function writeModule() {
  const entries = Object.entries(readManifest()).flatMap(([name, versions]) =>
    versions.map((entry) => ({ name, ...entry })),
  )
  const { lines, ranges } = shareLines(entries.map((entry) => minify(readScript(entry.name, entry))))
  const scripts = entries.map(({ name, version, sha1, parameters }, index) => {
    return { name, version, sha1, parameters, ranges: ranges[index].join(' ') }
  })
  return `export const lines = ${templateOf(lines)}\nexport const scripts = ${JSON.stringify(scripts)}`
}

/** A text as a template: the end of a line is one character there, and two in quotes. */
function templateOf(text) {
  return `\`${text.replace(/[`\\]|\$(?=\{)/g, '\\$&')}\``
}
