import { pathToFileURL } from 'node:url'

const OWN = new URL('../dist/', import.meta.url)

/** An entry of Sluice, such as `redis`: of this build, or of the one in the folder `build`. Imported when it is asked for. */
export function importEntry(entry, build) {
  const folder = build === undefined ? OWN : new URL(`${pathToFileURL(build).href}/`)
  return import(new URL(`${entry}.mjs`, folder))
}
