import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Where the assembled scripts of all versions are, and the manifest that names them. */
export const FOLDER = fileURLToPath(new URL('../../src/stores/redis/scripts/', import.meta.url))

/** What the manifest says: by the script's name its versions, oldest first. */
export function readManifest() {
  const file = join(FOLDER, 'manifest.json')
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
}

/** The text of one version as it is kept. */
export function readScript(name, version) {
  return readFileSync(join(FOLDER, `${name}@${version}.lua`), 'utf8')
}

/** What a server calls a script. */
export function sha1Of(text) {
  return createHash('sha1').update(text).digest('hex')
}
