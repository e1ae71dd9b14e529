import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { type InstalledPackage, installPackage } from './installed-package.ts'
import { ROOT } from './pack.ts'
import { output, run } from './run.ts'

// An application has what it has. npm checks the range even of an optional peer that nobody asked for, and refuses the whole install.

const SLOW_MS = 60_000

let installed: InstalledPackage
beforeAll(async () => {
  installed = await installPackage()
}, SLOW_MS)
afterAll(() => installed?.remove())

it('every peer is optional and takes any version', () => {
  const { peerDependencies, peerDependenciesMeta } = manifest
  expect(new Set(Object.values(peerDependencies))).toEqual(new Set(['*']))
  const optional = Object.entries(peerDependenciesMeta).filter(([, meta]) => meta.optional)
  expect(optional.map(([name]) => name)).toEqual(Object.keys(peerDependencies))
})

describe('npm install of the package succeeds beside', () => {
  it.each([
    ['node-redis 3', 'redis', 'node_modules/redis3'],
    ['ioredis 4', 'ioredis', 'node_modules/ioredis4'],
    ['NestJS 10', '@nestjs/common', 'test/nestjs-10/node_modules/@nestjs/common'],
  ])(
    '%s',
    async (_, name, source) => {
      const folder = await mkdtemp(join(tmpdir(), 'sluice-peers-'))
      onTestFinished(() => rm(folder, { recursive: true }))
      const dependencies = { [name]: await versionOf(join(ROOT, source)) }
      await copyWithNeeds(name, join(ROOT, source), folder)
      await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }))
      const tarballs = [`sluice-${manifest.version}.tgz`, `ipaddr.js-${manifest.dependencies['ipaddr.js']}.tgz`]
      const from = tarballs.map((file) => join(installed.folder, file))
      const args = ['install', ...from, '--offline', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock']
      const { code, stderr } = await run('npm', args, folder)
      expect({ code, refused: /ERESOLVE/.test(stderr) }, stderr).toEqual({ code: 0, refused: false })
      const decide =
        "const { createLimiter, fixedWindow } = require('sluice'); console.log(typeof createLimiter, typeof fixedWindow)"
      expect(await output(process.execPath, ['--eval', decide], folder)).toBe('function function\n')
    },
    SLOW_MS,
  )
})

async function versionOf(folder: string): Promise<string> {
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')).version
}

/**
 * Copies a package that this repository has, and all that it needs, into the folder's own `node_modules`. A second version of a package goes
 * below the one that needs it, as npm would have put it.
 */
async function copyWithNeeds(
  name: string,
  source: string,
  folder: string,
  copied = new Map<string, string>(),
): Promise<void> {
  copied.set(name, source)
  const target = join(folder, 'node_modules', name)
  await cp(source, target, { recursive: true })
  const {
    dependencies = {},
    peerDependencies = {},
    peerDependenciesMeta = {},
  } = JSON.parse(await readFile(join(source, 'package.json'), 'utf8'))
  const peers = Object.keys(peerDependencies).filter((peer) => peerDependenciesMeta[peer]?.optional !== true)
  for (const need of [...Object.keys(dependencies), ...peers]) {
    const from = await nearest(need, source)
    // What lies below a package came with it.
    if (copied.get(need) === from || from.startsWith(`${source}/`)) continue
    if (copied.has(need)) await cp(from, join(target, 'node_modules', need), { recursive: true })
    else await copyWithNeeds(need, from, folder, copied)
  }
}

/** The folder of a package as one of its users finds it. */
async function nearest(name: string, from: string): Promise<string> {
  const folder = join(from, 'node_modules', name)
  const isThere = await versionOf(folder).then(
    () => true,
    () => false,
  )
  return isThere ? folder : nearest(name, dirname(from))
}
