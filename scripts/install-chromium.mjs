// Finds a Chromium for the tests in a browser and prints where it is. On Debian and Ubuntu it installs one when there is none.

import { execFileSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** Where Chromium is: what SLUICE_CHROMIUM says, or on the PATH, or in /usr/bin; `undefined` when it is nowhere. */
export function findChromium(env = process.env) {
  const given = env.SLUICE_CHROMIUM
  if (given !== undefined && given !== '') {
    if (isProgram(given)) return given
    throw new Error(`SLUICE_CHROMIUM must name a program, got ${JSON.stringify(given)}`)
  }
  const folders = [...(env.PATH ?? '').split(delimiter).filter((folder) => folder !== ''), '/usr/bin']
  return folders.flatMap((folder) => NAMES.map((name) => join(folder, name))).find(isProgram)
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function install() {
  const apt = process.getuid?.() === 0 ? ['apt-get'] : ['sudo', '-n', 'apt-get']
  const run = (...args) => {
    const [program, ...first] = [...apt, ...args]
    execFileSync(program, first, { stdio: 'inherit', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } })
  }
  // With a font: a machine without any shows no letters.
  run('update', '-q')
  run('install', '-q', '-y', '--no-install-recommends', 'chromium', 'fonts-liberation')
}

function ensure() {
  const found = findChromium()
  if (found !== undefined) return found
  try {
    install()
  } catch (error) {
    throw new Error(
      `there is no Chromium, and it could not be installed: run "sudo apt-get install chromium", or set SLUICE_CHROMIUM to the path of a Chromium or Chrome (${error.message})`,
    )
  }
  const installed = findChromium()
  if (installed === undefined) throw new Error('apt-get installed chromium, but there is none on the PATH')
  return installed
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    console.info(`Chromium: ${ensure()}`)
  } catch (error) {
    console.error(error.message)
    process.exitCode = 1
  }
}
