import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo'
import { Controller, type ExecutionContext, Post, Req, Res } from '@nestjs/common'
import { ExternalContextCreator } from '@nestjs/core'
import { Args, GraphQLModule, Query, Resolver } from '@nestjs/graphql'
import { buildSchema, graphql } from 'graphql'
import { concurrency, createLimiter, type Decision, fixedWindow } from 'sluice'
import { byUser, getRequest, RateLimit, RateLimitDecision, RateLimitModule } from 'sluice/nestjs'
import { expect, it, onTestFinished } from 'vitest'
import { waitUntil } from '../servers/wait-until.ts'
import { listOf } from './asking.ts'
import { onExpress, onFastify } from './nestjs-12.ts'
import { appGuard, decorate, startNest } from './nestjs-frame.ts'

const typeDefs = 'type Query { cats(first: Int = 1): String, dogs: String, slow: String }'
const daily = (name: string, limit: number) => createLimiter({ name, rule: fixedWindow({ limit, window: 86_400_000 }) })

type Answer = { data: unknown; errors?: { message: string; path: string[]; extensions: Record<string, unknown> }[] }

async function ask(url: string, query: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query }),
  })
  const limits = listOf(response, 'ratelimit').map((item) => [item.name, item.parameters.r])
  return {
    status: response.status,
    limits,
    retryAfter: response.headers.get('retry-after'),
    ...((await response.json()) as Answer),
  }
}

/** A resolver of `cats`, `dogs` and `slow`, each of which says what remained when it ran. */
function animals(slow: () => Promise<void> = async () => {}) {
  const say = (decision: Decision | undefined) => `${decision?.remaining ?? 'not limited'}`
  class Animals {
    cats(decision: Decision | undefined, _first: number): string {
      return say(decision)
    }
    dogs(decision: Decision | undefined): string {
      return say(decision)
    }
    async slow(): Promise<string> {
      await slow()
      return 'slow'
    }
  }
  Resolver()(Animals)
  for (const name of ['cats', 'dogs', 'slow']) decorate(Animals, name, Query(name))
  for (const name of ['cats', 'dogs']) RateLimitDecision()(Animals.prototype, name, 0)
  Args('first')(Animals.prototype, 'cats', 1)
  return Animals
}

async function start(Animals: ReturnType<typeof animals>, options: Parameters<typeof RateLimitModule.forRoot>[0]) {
  const driver = { driver: ApolloDriver, typeDefs, graphiql: false }
  const app = await startNest(onExpress, {
    imports: [RateLimitModule.forRoot(options), GraphQLModule.forRoot<ApolloDriverConfig>(driver)],
    providers: [Animals, appGuard(onExpress)],
  })
  onTestFinished(app.close)
  return app.url
}

it('counts every resolver of a request by what it was asked, and tells each policy once, as it stands at the end', async () => {
  const Animals = animals()
  const warnings: unknown[] = []
  decorate(Animals, 'cats', RateLimit({ cost: (context) => context.getArgByIndex(1).first }))
  decorate(Animals, 'dogs', RateLimit([{}, { limiter: daily('dogs', 5) }]))
  const url = await start(Animals, { limiter: daily('api', 20), onWarning: (message) => warnings.push(message) })
  const { data, errors, limits } = await ask(url, '{ cats(first: 7) a: cats(first: 2) dogs }')
  expect(errors).toBeUndefined()
  // Each resolver has its own decision, in whichever order they were made.
  const { cats, a, dogs } = data as Record<string, string>
  expect([Math.min(Number(cats), Number(a)), dogs]).toEqual([10, '4'])
  expect([12, 13, 17, 18]).toContain(Math.max(Number(cats), Number(a)))
  expect(limits).toEqual([
    ['api', 10],
    ['dogs', 4],
  ])
  expect(warnings).toEqual([])
})

it('refuses one resolver with an error that has a code, and lets the others answer', async () => {
  const Animals = animals()
  decorate(Animals, 'dogs', RateLimit({ limiter: daily('dogs', 9) }))
  const url = await start(Animals, { limiter: daily('api', 1) })
  await ask(url, '{ cats }')
  const { status, data, errors, retryAfter } = await ask(url, '{ cats dogs }')
  expect([status, data]).toEqual([200, { cats: null, dogs: '8' }])
  expect(errors).toHaveLength(1)
  const [error] = errors ?? []
  expect(error).toMatchObject({ path: ['cats'], extensions: { code: 'TOO_MANY_REQUESTS' } })
  expect(error?.message).toBe(`The quota is used up. Try again in ${retryAfter} s.`)
  expect(Math.ceil(Number(error?.extensions.retryAfterMs) / 1_000)).toBe(Number(retryAfter))
})

it('counts by the user of the HTTP request, and refuses a request without one', async () => {
  const key = byUser((context: ExecutionContext) => getRequest(context).headers['x-user'])
  const url = await start(animals(), { limiter: daily('api', 9), key, onMissingKey: 'refuse' })
  expect((await ask(url, '{ cats }', { 'x-user': 'ann' })).data).toEqual({ cats: '8' })
  expect((await ask(url, '{ cats }', { 'x-user': 'ann' })).data).toEqual({ cats: '7' })
  expect((await ask(url, '{ cats }', { 'x-user': 'bob' })).data).toEqual({ cats: '8' })
  const { errors } = await ask(url, '{ cats }')
  expect(errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }])
  expect(errors?.[0]?.extensions).not.toHaveProperty('retryAfterMs')
})

it('holds a permit until the whole HTTP request is answered', async () => {
  let go = (): void => {}
  const gone = new Promise<void>((resolve) => {
    go = resolve
  })
  const places = createLimiter({ name: 'places', rule: concurrency({ limit: 1, lease: 60_000 }) })
  const url = await start(
    animals(() => gone),
    { limiter: places, key: () => 'all' },
  )
  const slow = ask(url, '{ slow }')
  const left = (count: number) => async () =>
    (await places.peek('all')).remaining === count ? undefined : `not ${count} are left`
  await waitUntil(left(0))
  expect((await ask(url, '{ cats }')).errors).toMatchObject([{ extensions: { code: 'TOO_MANY_REQUESTS' } }])
  go()
  expect((await slow).data).toEqual({ slow: 'slow' })
  await waitUntil(left(1))
})

// The driver for Apollo on Fastify is not among the packages of the tests: these are the calls that it makes.
it.each([
  ['reply', (_request: unknown, reply: unknown) => ({ reply })],
  ['request and response', (request: unknown, response: unknown) => ({ request, response })],
])('finds the reply of Fastify in the GraphQL context, as %s', async (_, contextOf) => {
  const Animals = animals()
  class Endpoint {
    readonly resolvers: Record<string, unknown> = {}
    async serve(request: { body: { query: string } }, reply: { send(body: unknown): void }): Promise<void> {
      const schema = buildSchema(typeDefs)
      for (const field of Object.values(schema.getQueryType()?.getFields() ?? {})) {
        field.resolve = this.resolvers[field.name] as never
      }
      reply.send(await graphql({ schema, source: request.body.query, contextValue: contextOf(request, reply) }))
    }
  }
  Controller()(Endpoint)
  decorate(Endpoint, 'serve', Post('graphql'))
  Req()(Endpoint.prototype, 'serve', 0)
  Res()(Endpoint.prototype, 'serve', 1)
  RateLimit({ limiter: () => undefined })(Endpoint)
  const parts = { controllers: [Endpoint], providers: [Animals, appGuard(onFastify)] }
  const limiter = daily('api', 2)
  const { app, url, close } = await startNest(onFastify, { ...parts, imports: [RateLimitModule.forRoot({ limiter })] })
  onTestFinished(close)
  const animal = app.get(Animals)
  const { resolvers } = app.get(Endpoint)
  const create = app.get(ExternalContextCreator)
  for (const name of ['cats', 'dogs'] as const) {
    resolvers[name] = create.create(
      animal,
      animal[name] as never,
      name,
      '',
      undefined,
      undefined,
      undefined,
      undefined,
      'graphql',
    )
  }
  const first = await ask(url, '{ cats dogs }')
  expect([first.errors, first.limits]).toEqual([undefined, [['api', 0]]])
  const second = await ask(url, '{ cats }')
  expect(second.errors).toMatchObject([{ extensions: { code: 'TOO_MANY_REQUESTS' } }])
  expect(Number(second.retryAfter)).toBeGreaterThan(0)
})
