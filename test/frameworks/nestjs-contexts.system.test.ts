import { ExternalContextCreator } from '@nestjs/core'
import { concurrency, createLimiter, fixedWindow } from 'sluice'
import { byApiKey, getRequest, RateLimit, RateLimitDecision, RateLimitException, RateLimitModule } from 'sluice/nestjs'
import { expect, it, onTestFinished } from 'vitest'
import { onExpress } from './nestjs-12.ts'
import { appGuard, startNest } from './nestjs-frame.ts'

// Microservices, bots, commands: contexts that have no HTTP request. They are called as the packages for them call handlers.

const daily = (name: string, limit: number) => createLimiter({ name, rule: fixedWindow({ limit, window: 86_400_000 }) })

class Handlers {
  handle(): string {
    return 'handled'
  }
  deep(_data: object, decision: unknown): string {
    return `${decision}`
  }
}
RateLimitDecision()(Handlers.prototype, 'deep', 1)

async function handlerOf(options: Parameters<typeof RateLimit>[0], method: 'handle' | 'deep' = 'handle', type = 'rpc') {
  class Own extends Handlers {
    override handle(): string {
      return super.handle()
    }
  }
  RateLimit(options)(Own)
  const { app, close } = await startNest(onExpress, {
    imports: [RateLimitModule.forRoot({})],
    providers: [Own, appGuard(onExpress)],
  })
  onTestFinished(close)
  const handlers = app.get(Own)
  const creator = app.get(ExternalContextCreator)
  const handler = handlers[method] as (...values: unknown[]) => string
  return creator.create(handlers, handler, method, '', undefined, undefined, undefined, undefined, type)
}

it('has no key for a message of a microservice unless a function finds one', async () => {
  const handle = await handlerOf({ limiter: daily('rpc', 9) })
  await expect(handle({ user: 'ann' }, {})).rejects.toThrow('a request has no key for the limiter "rpc"')
  const byHeader = await handlerOf({ limiter: daily('rpc', 9), key: byApiKey('x-api-key'), onMissingKey: 'refuse' })
  await expect(byHeader({ user: 'ann' }, {})).rejects.toThrow('The request does not identify its client.')
})

it('counts messages by the key that a function finds, and refuses with an exception that has the decision', async () => {
  const limiter = daily('rpc', 1)
  const handle = await handlerOf({ limiter, key: (context) => context.switchToRpc().getData().user })
  expect(await handle({ user: 'ann' }, {})).toBe('handled')
  expect(await handle({ user: 'bob' }, {})).toBe('handled')
  const refused = await handle({ user: 'ann' }, {}).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(RateLimitException)
  expect(refused).toMatchObject({
    message: expect.stringMatching(/^The quota is used up/),
    decision: { allowed: false, limitedBy: 'rpc' },
    extensions: { code: 'TOO_MANY_REQUESTS', retryAfterMs: expect.any(Number) },
  })
})

it('reports no time to try again for a cost that never passes', async () => {
  const handle = await handlerOf({ limiter: daily('rpc', 1), key: () => 'all', cost: 2 })
  const refused = (await handle({}, {}).catch((error: unknown) => error)) as RateLimitException
  expect([refused.getStatus(), refused.extensions]).toEqual([413, { code: 'CONTENT_TOO_LARGE' }])
})

it('gives no request and no decision where there is none', async () => {
  const handle = await handlerOf({ limiter: daily('rpc', 1), key: (context) => getRequest(context).user })
  await expect(handle({}, {})).rejects.toThrow(
    'getRequest() needs a context with an HTTP request, got one of type "rpc"',
  )
  const key: Parameters<typeof RateLimit>[0] = {
    limiter: daily('graphql', 1),
    key: (context) => getRequest(context).user,
  }
  const resolve = await handlerOf(key, 'handle', 'graphql')
  await expect(resolve({}, {}, undefined, {})).rejects.toThrow('got one of type "graphql"')
  const deep = await handlerOf({ limiter: daily('rpc', 1), key: () => 'all' }, 'deep')
  expect(await deep({}, undefined)).toBe('undefined')
})

it('holds nothing until an answer that never comes', async () => {
  const places = createLimiter({ name: 'places', rule: concurrency({ limit: 1, lease: 60_000 }) })
  const handle = await handlerOf({ limiter: places, key: () => 'all' })
  const needed = 'count and concurrency() wait for the answer to an HTTP request'
  await expect(handle({}, {})).rejects.toThrow(`${needed}, and a context of type "rpc" has none`)
  expect((await places.peek('all')).remaining).toBe(1)
})

it('speaks of a class of which nothing was known at the start', async () => {
  const { app, close } = await startNest(onExpress, {
    imports: [RateLimitModule.forRoot({})],
    providers: [appGuard(onExpress)],
  })
  onTestFinished(close)
  class Late extends Handlers {}
  RateLimit({ limiter: 'missing' })(Late)
  const late = new Late()
  const creator = app.get(ExternalContextCreator)
  const handle = creator.create(late, late.handle, 'handle', '', undefined, undefined, undefined, undefined, 'rpc')
  await expect(handle({}, {})).rejects.toThrow(
    '@RateLimit() of Late.handle: limiter must be one of the module\'s limiters (none), got "missing"',
  )
})
