import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Writes down, beside a bundle, whose code it has taken in and under which terms. */
export function thirdPartyLicences() {
  return {
    name: 'third-party-licences',
    generateBundle(_, bundle) {
      const modules = Object.values(bundle).flatMap((chunk) => Object.keys(chunk.modules ?? {}))
      const folders = [...new Set(modules.map(packageOf).filter((folder) => folder !== undefined))].sort()
      this.emitFile({
        type: 'asset',
        fileName: 'third-party-licences.txt',
        source: folders.map(licenceOf).join('\n\n----\n\n'),
      })
    },
  }
}

/** The folder of the package that a bundled module comes from; `undefined` for our own. */
function packageOf(id) {
  const path = id.replace(/^\0/, '').replace(/\?.*$/, '')
  if (!path.includes('/node_modules/')) return undefined
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
    const manifest = join(folder, 'package.json')
    // Some packages have a package.json in each of their folders.
    if (existsSync(manifest) && folder.endsWith(`/node_modules/${JSON.parse(readFileSync(manifest, 'utf8')).name}`))
      return folder
  }
  throw new Error(`no package.json of a package above ${path}`)
}

function licenceOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry))
  const text = file === undefined ? `Licence: ${license}` : readFileSync(join(folder, file), 'utf8').trim()
  return `${name} ${version}\n\n${text}`
}
