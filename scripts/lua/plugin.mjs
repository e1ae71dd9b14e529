import { readManifest, readScript } from './catalog.mjs'

const NAME = 'sluice:scripts'

/**
 * Makes `import { scripts } from 'sluice:scripts'` the scripts of every version, in the build and in the tests alike, and puts the
 * newest beside what is built as plain files, `lua/sliding-window.lua`, unless `writesFiles` is false.
 */
export function luaScripts({ writesFiles = true } = {}) {
  return {
    name: 'sluice-lua-scripts',
    resolveId: (id) => (id === NAME ? `\0${NAME}` : undefined),
    load: (id) => (id === `\0${NAME}` ? `export const scripts = ${JSON.stringify(allScripts())}` : undefined),
    generateBundle({ format }) {
      if (format !== 'es' || !writesFiles) return
      for (const [name, versions] of Object.entries(readManifest())) {
        const source = readScript(name, versions.at(-1))
        this.emitFile({ type: 'asset', fileName: `lua/${name}.lua`, source })
      }
    },
  }
}

function allScripts() {
  return Object.entries(readManifest()).flatMap(([name, versions]) =>
    versions.map((entry) => {
      const { version, sha1, parameters } = entry
      return { name, version, sha1, parameters, source: readScript(name, entry) }
    }),
  )
}
