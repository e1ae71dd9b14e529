import { symlink, unlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { installPackage, ROOT } from '../packaging/installed-package.ts'
import { output } from '../packaging/run.ts'
import type { Nest } from './nestjs-frame.ts'
import { nestSuite } from './nestjs-suite.ts'

// The package as it is installed beside NestJS 11: in this repository's own folder it would find NestJS 12.

const versions = {
  11: join(ROOT, 'test/nestjs-11/node_modules/@nestjs'),
  12: join(ROOT, 'node_modules/@nestjs'),
}
const { folder, remove } = await installPackage()
const beside = join(folder, 'node_modules/@nestjs')
await symlink(versions[11], beside)
afterAll(remove)

const load = createRequire(join(folder, 'app.cjs'))
const { ExpressAdapter } = load('@nestjs/platform-express')
const nest: Nest = {
  common: load('@nestjs/common'),
  core: load('@nestjs/core'),
  adapter: load('sluice/nestjs'),
  platform(hops) {
    const adapter = new ExpressAdapter()
    if (hops !== undefined) adapter.getInstance().set('trust proxy', hops)
    return adapter
  },
}

it('is NestJS 11, and no other, that is tested here', () => {
  for (const name of ['common', 'core', 'platform-express']) {
    expect(load(`@nestjs/${name}/package.json`).version).toMatch(/^11\./)
  }
})

nestSuite('NestJS 11 on Express', nest)

const APP = `
const limiter = createLimiter({ name: 'api', rule: fixedWindow({ limit: 1, windowMs: 3_600_000 }) })
class Cats {
  list() {
    return 'cats'
  }
}
Controller()(Cats)
Get()(Cats.prototype, 'list', Object.getOwnPropertyDescriptor(Cats.prototype, 'list'))
class AppModule {}
Module({
  imports: [RateLimitModule.forRoot({ limiter })],
  controllers: [Cats],
  providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
})(AppModule)
async function main() {
  const app = await NestFactory.create(AppModule, { logger: false, forceCloseConnections: true })
  await app.listen(0, '127.0.0.1')
  const answers = [await fetch(await app.getUrl()), await fetch(await app.getUrl())]
  console.log(answers.map(({ status, headers }) => [status, headers.get('content-type')].join(' ')).join(', '))
  await app.close()
}
main()
`
const NAMES = {
  '@nestjs/common': 'Controller, Get, Module',
  '@nestjs/core': 'APP_GUARD, NestFactory',
  sluice: 'createLimiter, fixedWindow',
  'sluice/nestjs': 'RateLimitGuard, RateLimitModule',
}
const kinds = {
  module: Object.entries(NAMES).map(([name, names]) => `import { ${names} } from '${name}'`),
  commonjs: Object.entries(NAMES).map(([name, names]) => `const { ${names} } = require('${name}')`),
}

it.each([
  [11, 'module'],
  [11, 'commonjs'],
  [12, 'module'],
  [12, 'commonjs'],
] as const)('the installed package works with NestJS %s in a program that is %s', async (version, kind) => {
  await unlink(beside)
  await symlink(versions[version], beside)
  const source = [...kinds[kind], APP].join('\n')
  const printed = await output(process.execPath, [`--input-type=${kind}`, '--eval', source], folder)
  expect(printed.trim()).toMatch(/^200 text\/html\S* charset=utf-8, 429 application\/problem\+json; charset=utf-8$/)
})
