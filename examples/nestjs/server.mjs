// NestJS behind limiters that routes pick by name. Plain JavaScript has no decorators: they are called by hand. See README.md.
import 'reflect-metadata'
import { applyDecorators, Controller, Get, Module, Req } from '@nestjs/common'
import { APP_GUARD, NestFactory } from '@nestjs/core'
import { Redis } from 'ioredis'
import { createLimiter, slidingWindow } from 'sluice'
import {
  byUser,
  getRequest,
  RateLimit,
  RateLimitDecision,
  RateLimitGuard,
  RateLimitModule,
  SkipRateLimit,
} from 'sluice/nestjs'
import { redisStore } from 'sluice/redis'

const { PORT = 8080, REDIS_URL } = process.env

// A name is taken at its word here. In your app it comes from what has checked it: a guard that ran before, request.user.
const userOf = (request) => /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1]

class AppController {
  home(decision) {
    return { hello: 'world', remaining: decision.remaining }
  }
  me(request, decision) {
    return { user: userOf(request), remaining: decision.remaining }
  }
  health() {
    return 'well'
  }
}
Controller()(AppController)
// By address, as the module says.
decorate(AppController, 'home', [Get()], [RateLimitDecision()])
// By user, and more strictly. A client that is not signed in has no key, and gets 403.
const perUser = { limiter: 'users', key: byUser((context) => userOf(getRequest(context))), onMissingKey: 'refuse' }
decorate(AppController, 'me', [Get('me'), RateLimit(perUser)], [Req(), RateLimitDecision()])
decorate(AppController, 'health', [Get('health'), SkipRateLimit()])

// Made when the application starts, and closed when it ends.
class Counts {
  // A request that may have counted is not sent again: nothing must count twice.
  redis = REDIS_URL ? new Redis(REDIS_URL) : undefined
  store = this.redis && redisStore(this.redis)

  constructor() {
    this.redis?.on('error', (error) => console.error(error.message))
  }
  onApplicationShutdown() {
    this.redis?.disconnect()
  }
}
class CountsModule {}
Module({ providers: [Counts], exports: [Counts] })(CountsModule)

class AppModule {}
Module({
  imports: [
    RateLimitModule.forRootAsync({
      imports: [CountsModule],
      inject: [Counts],
      useFactory: ({ store }) => {
        const perMinute = (limit) => slidingWindow({ limit, window: '1m' })
        const limiters = {
          visitors: createLimiter({ name: 'visitors', rule: perMinute(5), store }),
          users: createLimiter({ name: 'users', rule: perMinute(3), store }),
        }
        return { limiter: 'visitors', limiters, closeLimiters: true }
      },
    }),
  ],
  controllers: [AppController],
  providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
})(AppModule)

const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'], forceCloseConnections: true })
// Behind a proxy, say how many there are: app.set('trust proxy', 1). Otherwise all clients share the proxy's address.
app.enableShutdownHooks(['SIGINT', 'SIGTERM'], { useProcessExit: true })
await app.listen(Number(PORT), '127.0.0.1')
console.log(await app.getUrl())

/** What `@Get() @RateLimit(…) method(@Req() request)` does in TypeScript. */
function decorate(type, method, ofMethod, ofParameters = []) {
  const descriptor = Object.getOwnPropertyDescriptor(type.prototype, method)
  applyDecorators(...ofMethod)(type.prototype, method, descriptor)
  for (const [index, decorator] of ofParameters.entries()) decorator(type.prototype, method, index)
}
