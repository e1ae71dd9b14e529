import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { assemble } from './assemble.mjs'
import { minify } from './minify.mjs'

/** Where the manifest is. */
export const FOLDER = fileURLToPath(new URL('../../src/stores/redis/lua/', import.meta.url))

/** Where the texts of released versions are kept, with their comments, for good. */
export const RELEASED = join(FOLDER, 'released')

/** What the manifest says: by the script's name its versions, oldest first. */
export function readManifest() {
  const file = join(FOLDER, 'manifest.json')
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
}

/** The text of one version, with its comments: as it was released, or else as it is assembled now. */
export function readScript(name, { version, released }) {
  return released ? readFileSync(join(RELEASED, `${name}@${version}.lua`), 'utf8') : assemble(name, version)
}

/** What a server calls a script: it runs the text minified. */
export function sha1Of(text) {
  return createHash('sha1').update(minify(text)).digest('hex')
}
