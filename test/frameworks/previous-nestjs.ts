import { symlink, unlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { installPackage } from '../packaging/installed-package.ts'
import { ROOT } from '../packaging/pack.ts'
import { output } from '../packaging/run.ts'
import type { Nest } from './nestjs-frame.ts'
import { nestSuite } from './nestjs-suite.ts'

const versions = {
  10: join(ROOT, 'test/nestjs-10/node_modules/@nestjs'),
  11: join(ROOT, 'test/nestjs-11/node_modules/@nestjs'),
  12: join(ROOT, 'node_modules/@nestjs'),
}

/**
 * Tests the package as it is installed beside an earlier major of NestJS: in this repository's own folder it would find NestJS 12.
 * Then lets programs of both kinds run with each of `others`.
 */
export async function testBesideNest(version: 10 | 11, others: readonly (10 | 11 | 12)[]): Promise<void> {
  const { folder, remove } = await installPackage()
  const beside = join(folder, 'node_modules/@nestjs')
  await symlink(versions[version], beside)
  afterAll(remove)

  const load = createRequire(join(folder, 'app.cjs'))
  it(`is NestJS ${version}, and no other, that is tested here`, () => {
    for (const name of ['common', 'core', 'platform-express']) {
      expect(load(`@nestjs/${name}/package.json`).version).toMatch(new RegExp(`^${version}\\.`))
    }
  })

  nestSuite(`NestJS ${version} on Express`, nestFrom(load))

  const programs = others.flatMap((other) => (['module', 'commonjs'] as const).map((kind) => [other, kind] as const))
  it.each(programs)('the installed package works with NestJS %s in a program that is %s', async (other, kind) => {
    await unlink(beside)
    await symlink(versions[other], beside)
    const source = [...kinds[kind], APP].join('\n')
    const printed = await output(process.execPath, [`--input-type=${kind}`, '--eval', source], folder)
    expect(printed.trim()).toMatch(/^200 text\/html\S* charset=utf-8, 429 application\/problem\+json; charset=utf-8$/)
  })
}

function nestFrom(load: NodeJS.Require): Nest {
  const { ExpressAdapter } = load('@nestjs/platform-express')
  return {
    common: load('@nestjs/common'),
    core: load('@nestjs/core'),
    adapter: load('sluice/nestjs'),
    platform(hops) {
      const adapter = new ExpressAdapter()
      if (hops !== undefined) adapter.getInstance().set('trust proxy', hops)
      return adapter
    },
  }
}

const APP = `
const limiter = createLimiter({ name: 'api', rule: fixedWindow({ limit: 1, window: 3_600_000 }) })
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
