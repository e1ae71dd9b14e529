// Adds to package-lock.json the platform packages that npm left out.
//
// A package with a program per platform names them all as optional dependencies. Where the registry at hand has only some of
// them, `npm install` writes a lock file without the others, and `npm ci` then refuses that lock file everywhere. The versions
// are known from the package that names them; the platform is in the name. Run after every `npm install`: npm run lockfile
import { readFileSync, writeFileSync } from 'node:fs'

const file = new URL('../package-lock.json', import.meta.url)
const lock = JSON.parse(readFileSync(file, 'utf8'))
const EXACT = /^\d+\.\d+\.\d+(-[\w.]+)?$/
const SYSTEMS = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32']
const PROCESSORS = ['arm64', 'arm', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'x64', 'wasm32']
// What some packages call them.
const ALSO = { windows: 'win32', 64: 'x64' }

let added = 0
for (const [home, parent] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
    const platform = platformOf(name)
    if (platform === undefined || !EXACT.test(version) || found(home, name)?.version === version) continue
    const top = `node_modules/${name}`
    const path = lock.packages[top] === undefined ? top : `${home}/${top}`
    lock.packages[path] = { version, dev: parent.dev, optional: true, ...platform }
    added++
  }
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([one], [other]) => (one < other ? -1 : 1)))
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
console.log(`${added} platform packages added`)

/** `…-linux-x64-musl` → what npm compares with the machine; undefined for a package that is for every platform. */
function platformOf(name) {
  const words = name
    .split('/')
    .at(-1)
    .split('-')
    .map((word) => ALSO[word] ?? word)
  const os = SYSTEMS.find((system) => words.includes(system))
  const cpu = PROCESSORS.find((processor) => words.includes(processor))
  if (cpu === undefined || (os === undefined && cpu !== 'wasm32')) return undefined
  const libc = words.some((word) => word.startsWith('musl'))
    ? 'musl'
    : os === 'linux' && words.some((word) => word.startsWith('gnu'))
      ? 'glibc'
      : undefined
  return { ...(os && { os: [os] }), cpu: [cpu], ...(libc && { libc: [libc] }) }
}

/** The package that `home` gets when it asks for `name`: the nearest one on the way up. */
function found(home, name) {
  for (let folder = home; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const entry = lock.packages[`${folder}/node_modules/${name}`.replace(/^\//, '')]
    if (entry !== undefined || folder === '') return entry
  }
}
