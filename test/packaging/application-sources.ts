const ASK = `
async function ask(url) {
  const statuses = []
  for (let request = 0; request < 3; request++) statuses.push((await fetch(url)).status)
  return statuses.join(' ')
}`

/** An application of Express: a store behind express-rate-limit on one path, our middleware on another. `option` names the limit. */
export const EXPRESS = (option: string): string => `
const express = require('express')
const library = require('express-rate-limit')
const { createLimiter, slidingWindow } = require('sluice')
const { rateLimit } = require('sluice/express')
const { expressRateLimitStore } = require('sluice/express-rate-limit')
${ASK}
const app = express()
const limiter = createLimiter({ name: 'api', rule: slidingWindow({ limit: 2, window: 60_000 }) })
app.get('/store', library.rateLimit({ ${option}: 2, windowMs: 60_000, store: expressRateLimitStore() }))
app.get('/middleware', rateLimit({ limiter }))
app.use((request, response) => response.end())
const server = app.listen(0, '127.0.0.1', async () => {
  const url = 'http://127.0.0.1:' + server.address().port
  console.log('store ' + (await ask(url + '/store')) + ', middleware ' + (await ask(url + '/middleware')))
  process.exit()
})
`

/** An application of Fastify: a store behind its plugin on one path, our plugin on another. */
export const FASTIFY: string = `
const fastify = require('fastify')
const library = require('@fastify/rate-limit')
const { createLimiter, slidingWindow } = require('sluice')
const { rateLimit } = require('sluice/fastify')
const { fastifyRateLimitStore } = require('sluice/fastify-rate-limit')
${ASK}
async function main(plugin, options) {
  const app = fastify()
  await app.register(plugin, options)
  app.get('/', async () => 'hello')
  return ask(await app.listen({ port: 0, host: '127.0.0.1' }))
}
const limiter = createLimiter({ name: 'api', rule: slidingWindow({ limit: 2, window: 60_000 }) })
const store = fastifyRateLimitStore()
main(library, { max: 2, timeWindow: '1 minute', store }).then(async (behind) => {
  console.log('store ' + behind + ', plugin ' + (await main(rateLimit, { limiter })))
  process.exit()
})
`

/** An application of NestJS with our module and guard. */
export const NEST: string = `
import 'reflect-metadata'
import { Controller, Get, Module } from '@nestjs/common'
import { APP_GUARD, NestFactory } from '@nestjs/core'
import { createLimiter, slidingWindow } from 'sluice'
import { RateLimitGuard, RateLimitModule } from 'sluice/nestjs'

const limiter = createLimiter({ name: 'api', rule: slidingWindow({ limit: 2, window: 60_000 }) })

@Controller()
class CatsController {
  @Get()
  list(): string {
    return 'cats'
  }
}

@Module({
  imports: [RateLimitModule.forRoot({ limiter })],
  controllers: [CatsController],
  providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
})
class AppModule {}

declare function fetch(url: string): Promise<{ status: number }>
declare const console: { log(text: string): void }
declare const process: { exit(): void }

async function main(): Promise<void> {
  const app = await NestFactory.create(AppModule, { logger: false })
  await app.listen(0, '127.0.0.1')
  const statuses: number[] = []
  for (let request = 0; request < 3; request++) statuses.push((await fetch(await app.getUrl())).status)
  console.log(statuses.join(' '))
  process.exit()
}
void main()
`

/** What `nest new` writes, as far as the compiler matters. */
export const NEST_CONFIG: Readonly<Record<string, string>> = {
  'nest-cli.json': JSON.stringify({ sourceRoot: 'src' }),
  'tsconfig.json': JSON.stringify({
    compilerOptions: {
      module: 'commonjs',
      moduleResolution: 'node',
      target: 'ES2021',
      types: [],
      experimentalDecorators: true,
      emitDecoratorMetadata: true,
      skipLibCheck: true,
      strict: true,
      outDir: './dist',
    },
    include: ['src'],
  }),
}
