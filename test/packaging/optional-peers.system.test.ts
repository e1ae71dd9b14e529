import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { installBeside } from './install-beside.ts'
import { type InstalledPackage, installPackage } from './installed-package.ts'
import { output } from './run.ts'

// An application has what it has. npm checks the range even of an optional peer that is not used, and refuses the whole install.

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
      const { folder, installing, remove } = await installBeside(installed.folder, { [name]: source })
      onTestFinished(remove)
      const { code, stderr } = installing
      expect({ code, refused: /ERESOLVE/.test(stderr) }, stderr).toEqual({ code: 0, refused: false })
      const decide =
        "const { createLimiter, fixedWindow } = require('sluice'); console.log(typeof createLimiter, typeof fixedWindow)"
      expect(await output(process.execPath, ['--eval', decide], folder)).toBe('function function\n')
    },
    SLOW_MS,
  )
})
