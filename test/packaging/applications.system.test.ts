import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { EXPRESS, FASTIFY, NEST, NEST_CONFIG } from './application-sources.ts'
import { type Application, installBeside } from './install-beside.ts'
import { type InstalledPackage, installPackage } from './installed-package.ts'
import { ROOT } from './pack.ts'
import { output } from './run.ts'

// Applications as people have them: their packages were there first, and the package comes to them by npm.

let installed: InstalledPackage
beforeAll(async () => {
  installed = await installPackage()
})
afterAll(() => installed?.remove())

async function openApplication(
  packages: Readonly<Record<string, string>>,
  files: Readonly<Record<string, string>>,
): Promise<Application> {
  const application = await installBeside(installed.folder, packages)
  onTestFinished(application.remove)
  expect(application.installing.code, application.installing.stderr).toBe(0)
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(application.folder, name)), { recursive: true })
    await writeFile(join(application.folder, name), text)
  }
  return application
}

/** Fails when a package is missing, invalid or not asked for. */
const list = ({ folder }: Pick<Application, 'folder'>): Promise<string> => output('npm', ['ls', '--all'], folder)
const runMain = ({ folder }: Application, file: string): Promise<string> => output(process.execPath, [file], folder)

describe('an application installs the package, npm ls is clean, and it limits requests:', () => {
  it.each([
    ['6', 'max', 'node_modules/express-rate-limit6'],
    ['7', 'limit', 'node_modules/express-rate-limit7'],
    ['8', 'limit', 'node_modules/express-rate-limit'],
  ])('Express 4 with express-rate-limit %s', async (_, option, source) => {
    const packages = { express: 'node_modules/express4', 'express-rate-limit': source }
    const application = await openApplication(packages, { 'main.js': EXPRESS(option) })
    await list(application)
    expect(await runMain(application, 'main.js')).toBe('store 200 200 429, middleware 200 200 429\n')
  })

  it.each([
    ['4', '9', 'node_modules/fastify4', 'node_modules/fastify-rate-limit9'],
    ['5', '10', 'node_modules/fastify', 'node_modules/fastify-rate-limit10'],
    ['5', '11', 'node_modules/fastify', 'node_modules/@fastify/rate-limit'],
  ])('Fastify %s with @fastify/rate-limit %s', async (_major, _plugin, fastify, source) => {
    const application = await openApplication({ fastify, '@fastify/rate-limit': source }, { 'main.js': FASTIFY })
    await list(application)
    expect(await runMain(application, 'main.js')).toBe('store 200 200 429, plugin 200 200 429\n')
  })

  it.each([
    ['10', 'test/nestjs-10/node_modules/@nestjs/cli'],
    ['11', 'test/nestjs-11/node_modules/@nestjs/cli'],
  ])('NestJS %s, built by nest build', async (major, cli) => {
    const home = `test/nestjs-${major}/node_modules/@nestjs`
    const packages = {
      ...Object.fromEntries(
        ['common', 'core', 'platform-express'].map((name) => [`@nestjs/${name}`, `${home}/${name}`]),
      ),
      'reflect-metadata': 'node_modules/reflect-metadata',
      rxjs: 'node_modules/rxjs',
    }
    const application = await openApplication(packages, { 'src/main.ts': NEST, ...NEST_CONFIG })
    await list(application)
    // The compiler is the application's own, and no matter of npm ls.
    const compiler = join(ROOT, 'test/typescript/5.4/node_modules/typescript')
    await symlink(compiler, join(application.folder, 'node_modules/typescript'))
    await output(process.execPath, [join(ROOT, cli, 'bin/nest.js'), 'build'], application.folder)
    expect(await runMain(application, 'dist/main.js')).toBe('200 200 429\n')
  })
})

it('a project of TypeScript 4.9, node10 and CommonJS passes its tests in ts-jest', async () => {
  await list(installed)
  const home = join(installed.folder, 'ts-jest')
  const compiler = join(ROOT, 'test/typescript/4.9/node_modules/typescript')
  const tsconfig = { strict: true, module: 'commonjs', moduleResolution: 'node', target: 'es2021', types: [] }
  const transform = { '^.+\\.ts$': [join(ROOT, 'node_modules/ts-jest'), { tsconfig, compiler }] }
  await mkdir(home)
  await writeFile(join(home, 'jest.config.json'), JSON.stringify({ transform, testMatch: ['**/*.test.ts'] }))
  await writeFile(join(home, 'limits.test.ts'), TS_JEST)
  const jest = join(ROOT, 'node_modules/jest/bin/jest.js')
  await output(process.execPath, [jest, '--runInBand', '--no-cache', '--no-watchman', '--rootDir', home], home)
})

const TS_JEST = `import { createLimiter, fixedWindow, type Decision } from 'sluice'
import { manualClock } from 'sluice/testing'
import { redisStore } from 'sluice/redis'

declare function test(title: string, run: () => Promise<void>): void
declare function expect(value: unknown): { toEqual(other: unknown): void }

test('decides', async () => {
  const limiter = createLimiter({ name: 'api', rule: fixedWindow({ limit: 1, window: 1_000 }), clock: manualClock(0) })
  const decisions: Decision[] = [await limiter.consume('ada'), await limiter.consume('ada')]
  expect([typeof redisStore, ...decisions.map(({ allowed }) => allowed)]).toEqual(['function', true, false])
})
`
