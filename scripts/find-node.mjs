import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const cache = fileURLToPath(new URL('../.cache/', import.meta.url))

// The package `node` of npm installs one of these in a script of its own. Apple's processors have the other name.
const prefix = process.platform === 'darwin' && process.arch === 'arm64' ? 'node-bin' : 'node'
const name = `${prefix}-${process.platform}-${process.arch}`

/** The path and version of a Node of this major version. It stays in .cache/node-<major>; npm fetches it once. */
export async function findNode(major) {
  const folder = join(cache, `node-${major}`)
  const found = await nodeIn(folder, major)
  if (found !== undefined) return found
  await fetchNode(folder, major)
  const fetched = await nodeIn(folder, major)
  if (fetched === undefined) throw new Error(`${name}@${major} does not run here`)
  return fetched
}

async function nodeIn(folder, major) {
  const path = join(folder, 'node_modules', name, 'bin', 'node')
  try {
    const { stdout } = await promisify(execFile)(path, ['--version'])
    const version = stdout.trim().replace('v', '')
    return version.startsWith(`${major}.`) ? { path, version } : undefined
  } catch {
    return undefined
  }
}

/** npm fills a folder beside, which then takes its place: an install that was interrupted leaves no half of a Node there. */
async function fetchNode(folder, major) {
  console.log(`fetching ${name}@${major} into .cache, once`)
  await mkdir(cache, { recursive: true })
  const work = await mkdtemp(`${folder}-`)
  try {
    // The prefix keeps npm away from our own package.json. npm's own words stay away: they name the registry.
    const flags = ['--prefix', work, '--no-save', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund']
    const npm = spawn('npm', ['install', ...flags, `${name}@${major}`], { stdio: 'ignore' })
    const [code] = await once(npm, 'close')
    if (code !== 0) throw new Error(`"npm install ${name}@${major}" ended with ${code}`)
    await rm(folder, { recursive: true, force: true })
    await rename(work, folder)
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}
