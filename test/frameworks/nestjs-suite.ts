import type { ExecutionContext, Type } from '@nestjs/common'
import { createLimiter, fixedWindow } from 'sluice'
import { describe, expect, it, onTestFinished } from 'vitest'
import { adapterSuite } from './adapter-suite.ts'
import { listOf } from './asking.ts'
import { appGuard, decorate, type Nest, nestFrame, type Parts, startNest } from './nestjs-frame.ts'

/** What the module promises on one version of Nest: what all adapters do, and what only Nest has. */
export function nestSuite(name: string, nest: Nest): void {
  adapterSuite(nestFrame(name, nest))
  describe(`${name} alone`, () => ownTests(nest))
}

const daily = (name: string, limit: number) => createLimiter({ name, rule: fixedWindow({ limit, window: 86_400_000 }) })

function ownTests(nest: Nest): void {
  const { common, core, adapter } = nest
  const { RateLimit, RateLimitGuard, RateLimitModule, SkipRateLimit, byUser, getRequest } = adapter

  /** A controller with GET handlers at their own names, which answer their names. */
  function cats<Name extends string>(...names: Name[]): Type & { prototype: Record<Name, () => string> } {
    class Cats {}
    for (const handler of names) {
      Object.assign(Cats.prototype, { [handler]: () => handler })
      Object.defineProperty(Object.getOwnPropertyDescriptor(Cats.prototype, handler)?.value, 'name', { value: handler })
      decorate(Cats, handler, common.Get(handler))
    }
    common.Controller()(Cats)
    return Cats as never
  }
  const start = async (parts: Parts): Promise<string> => {
    const app = await startNest(nest, parts)
    onTestFinished(app.close)
    return app.url
  }
  const limitsOn = async (url: string, headers: Record<string, string> = {}): Promise<unknown[]> =>
    listOf(await fetch(url, { headers }), 'ratelimit').map((item) => [item.name, item.parameters.r])
  const user = byUser((context: ExecutionContext) => getRequest(context).headers['x-user'])

  it('limits by the module, by the controller or by the handler: the nearest counts, and one can skip', async () => {
    const limiters = { api: daily('api', 9), cats: daily('cats', 9), feed: daily('feed', 9) }
    const Cats = cats('list', 'feed', 'health')
    RateLimit({ limiter: 'cats' })(Cats)
    decorate(Cats, 'feed', RateLimit({ limiter: limiters.feed, cost: 2 }))
    decorate(Cats, 'health', SkipRateLimit())
    const Dogs = cats('dogs', 'both')
    decorate(Dogs, 'both', RateLimit([{ limiter: 'api' }, { limiter: 'feed', cost: () => 3 }]))
    const Birds = cats('birds', 'sing')
    SkipRateLimit()(Birds)
    decorate(Birds, 'sing', RateLimit())
    const url = await start({
      imports: [RateLimitModule.forRoot({ limiter: 'api', limiters })],
      controllers: [Cats, Dogs, Birds],
      providers: [appGuard(nest)],
    })
    expect(await limitsOn(`${url}/list`)).toEqual([['cats', 8]])
    expect(await limitsOn(`${url}/feed`)).toEqual([['feed', 7]])
    expect(await limitsOn(`${url}/health`)).toEqual([])
    expect(await limitsOn(`${url}/dogs`)).toEqual([['api', 8]])
    expect(await limitsOn(`${url}/both`)).toEqual([
      ['api', 7],
      ['feed', 4],
    ])
    expect(await limitsOn(`${url}/birds`)).toEqual([])
    expect(await limitsOn(`${url}/sing`)).toEqual([['api', 6]])
  })

  it('takes what a decorator leaves out from the module, and limits nothing without a setting', async () => {
    const Cats = cats('list', 'feed')
    decorate(Cats, 'list', RateLimit({ limiter: 'api', cost: undefined as never }))
    const limiters = { api: daily('api', 9) }
    const url = await start({
      imports: [RateLimitModule.forRoot({ limiters, key: user, onMissingKey: 'skip', cost: 4 })],
      controllers: [Cats],
      providers: [appGuard(nest)],
    })
    expect(await limitsOn(`${url}/list`, { 'x-user': 'ann' })).toEqual([['api', 5]])
    expect(await limitsOn(`${url}/list`, { 'x-user': 'bob' })).toEqual([['api', 5]])
    expect(await limitsOn(`${url}/list`)).toEqual([])
    expect(await limitsOn(`${url}/feed`, { 'x-user': 'ann' })).toEqual([])
  })

  it('picks a limiter by plan, by its name, and says where a name that does not exist was picked', async () => {
    const errors: string[] = []
    const Cats = cats('list')
    RateLimit({ limiter: async (context) => getRequest(context).headers['x-plan'] })(Cats)
    const url = await start({
      imports: [RateLimitModule.forRoot({ limiters: { free: daily('free', 2), paid: daily('paid', 9) } })],
      controllers: [Cats],
      providers: [appGuard(nest)],
      before: (app) => app.useGlobalFilters(recordingFilter(nest, errors)),
    })
    expect(await limitsOn(`${url}/list`, { 'x-plan': 'free' })).toEqual([['free', 1]])
    expect(await limitsOn(`${url}/list`, { 'x-plan': 'paid' })).toEqual([['paid', 8]])
    expect(await limitsOn(`${url}/list`)).toEqual([])
    expect((await fetch(`${url}/list`, { headers: { 'x-plan': 'gold' } })).status).toBe(500)
    expect(errors).toEqual(['limiter must be one of the module\'s limiters (free, paid), got "gold" for Cats.list'])
  })

  it('guards one controller of another module, without a guard for the whole application', async () => {
    const Cats = cats('list')
    common.UseGuards(RateLimitGuard)(Cats)
    class CatsModule {}
    common.Module({ controllers: [Cats] })(CatsModule)
    const imports = [RateLimitModule.forRoot({ limiter: daily('api', 1) }), CatsModule]
    const url = await start({ imports, controllers: [cats('free')] })
    expect(await limitsOn(`${url}/list`)).toEqual([['api', 0]])
    expect((await fetch(`${url}/list`)).status).toBe(429)
    expect(await limitsOn(`${url}/free`)).toEqual([])
  })

  it('warns when the guard stands before the application and on a controller', async () => {
    const warnings: string[] = []
    const Cats = cats('list')
    common.UseGuards(RateLimitGuard)(Cats)
    const onWarning = (_: string, code: string) => warnings.push(code)
    const url = await start({
      imports: [RateLimitModule.forRoot({ limiter: daily('api', 9), onWarning })],
      controllers: [Cats],
      providers: [appGuard(nest)],
    })
    expect(await limitsOn(`${url}/list`)).toEqual([['api', 7]])
    expect(warnings).toEqual(['COUNTED_TWICE'])
  })

  it('makes its options when the application starts, of what other modules provide', async () => {
    class Settings {
      readonly limit = 7
    }
    class SettingsModule {}
    common.Module({ providers: [Settings], exports: [Settings] })(SettingsModule)
    const useFactory = async ({ limit }: Settings) => ({ limiter: daily('api', limit) })
    const url = await start({
      imports: [RateLimitModule.forRootAsync({ imports: [SettingsModule], inject: [Settings], useFactory })],
      controllers: [cats('list')],
      // So a test can put another guard in its place.
      providers: [{ provide: core.APP_GUARD, useExisting: RateLimitGuard }],
    })
    expect(await limitsOn(`${url}/list`)).toEqual([['api', 6]])
  })

  it.each([
    [false, 'allowed'],
    [true, 'LIMITER_CLOSED'],
  ])('closes the limiters with the application when closeLimiters is %s: %s', async (closeLimiters, outcome) => {
    const limiters = { first: daily('first', 9), second: daily('second', 9) }
    const alone = daily('alone', 9)
    const module = RateLimitModule.forRoot({ limiter: alone, limiters, closeLimiters })
    const { close } = await startNest(nest, { imports: [module] })
    await close()
    for (const limiter of [alone, limiters.first, limiters.second]) {
      const asked = limiter.consume('a').then(
        () => 'allowed',
        (error) => error.code,
      )
      expect(await asked).toBe(outcome)
    }
  })

  it('refuses with an exception that filters see, whose type is only told with its own body', async () => {
    const Cats = cats('list', 'page')
    const limiter = daily('api', 1)
    class Page {
      catch(exception: InstanceType<typeof adapter.RateLimitException>, host: { getArgByIndex(index: number): never }) {
        const { limitedBy } = exception.decision ?? {}
        const text = `<p>${exception.message} ${limitedBy} ${exception instanceof common.HttpException}</p>`
        const response = host.getArgByIndex(1) as { status(code: number): { send(body: string): void } }
        response.status(exception.getStatus()).send(text)
      }
    }
    common.Catch(adapter.RateLimitException)(Page)
    decorate(Cats, 'page', common.UseFilters(Page))
    const url = await start({
      imports: [RateLimitModule.forRoot({ limiter })],
      controllers: [Cats],
      providers: [appGuard(nest)],
    })
    await fetch(`${url}/list`)
    const problem = await fetch(`${url}/list`)
    expect(problem.headers.get('content-type')).toMatch(/^application\/problem\+json\b/)
    const page = await fetch(`${url}/page`)
    expect([page.status, page.headers.get('content-type')]).toEqual([429, expect.stringMatching(/^text\/(html|plain)/)])
    expect(await page.text()).toMatch(/^<p>The quota is used up\. Try again in \d+ s\. api true<\/p>$/)
    expect(listOf(page, 'ratelimit').map(({ parameters }) => parameters.r)).toEqual([0])
  })

  it('has onRefused make the body, or throw an exception of its own, the options of a handler before those of the module', async () => {
    const Cats = cats('list', 'page', 'late')
    const throws = () => {
      throw new common.HttpException({ tea: true }, 418)
    }
    decorate(Cats, 'page', RateLimit({ onRefused: throws }))
    decorate(Cats, 'late', RateLimit({ onRefused: async () => undefined }))
    const url = await start({
      imports: [RateLimitModule.forRoot({ limiter: daily('api', 1), onRefused: async () => ({ calm: 'down' }) })],
      controllers: [Cats],
      providers: [appGuard(nest)],
    })
    await fetch(`${url}/list`)
    const answered = async (path: string) => {
      const response = await fetch(`${url}/${path}`)
      return [response.status, response.headers.get('content-type')?.split(';')[0], await response.json()]
    }
    expect(await answered('list')).toEqual([429, 'application/json', { calm: 'down' }])
    expect(await answered('page')).toEqual([418, 'application/json', { tea: true }])
    expect(await answered('late')).toEqual([429, 'application/problem+json', expect.objectContaining({ status: 429 })])
  })

  describe('wrong options', () => {
    const limiters = { api: daily('api', 1), cats: daily('cats', 1) }
    const starting = async (decorator: MethodDecorator & ClassDecorator, on: 'class' | 'method') => {
      const Cats = cats('list')
      if (on === 'class') decorator(Cats)
      else decorate(Cats, 'list', decorator)
      return start({ imports: [RateLimitModule.forRoot({ limiters })], providers: [Cats] })
    }

    it('of the module throw at once', () => {
      const given = (options: object) => () => RateLimitModule.forRoot(options)
      expect(given({ limitter: 1 })).toThrow(
        'RateLimitModule.forRoot() has no option "limitter", did you mean "limiter"?',
      )
      expect(given({ limiter: 5 })).toThrow('limiter must be a limiter made by createLimiter(), or a function')
      expect(given({ limiter: 'api' })).toThrow('limiter must be one of the module\'s limiters (none), got "api"')
      expect(given({ limiters: { api: 5 } })).toThrow('limiters.api must be a limiter made by createLimiter(), got 5')
      expect(given({ limiters: [] })).toThrow('limiters must be an object of limiters by name, got an array')
      expect(given({ limiters: null })).toThrow('limiters must be an object of limiters by name, got null')
      expect(given({ limiters, key: 'ip' })).toThrow('key must be a function of the request such as byIp()')
      const rule = fixedWindow({ limit: 1, window: '1d' })
      const tiers = createLimiter({ name: 'tiers', tiers: { user: rule, ip: rule } })
      expect(given({ limiter: tiers })).toThrow('key is missing for the tiers user, ip of the limiter "tiers"')
      // A decorator may bring the keys.
      expect(given({ limiters: { tiers } })).not.toThrow()
      expect(given({ closeLimiters: 1 })).toThrow('closeLimiters must be true or false, got 1')
      expect(given({ limiters, onRefused: 418 })).toThrow('onRefused must be a function, got 418')
      expect(given({ trustProxy: 0 })).toThrow(/^trustProxy must be .*, got 0$/)
      expect(() => RateLimit([])).toThrow(
        '@RateLimit() must have at least one limiter, got none. Use @SkipRateLimit() for no limit',
      )
    })

    it('of a decorator stop the start, with the place where they stand', async () => {
      await expect(starting(RateLimit({ limiter: 'dogs' }), 'method')).rejects.toThrow(
        '@RateLimit() of Cats.list: limiter must be one of the module\'s limiters (api, cats), got "dogs"',
      )
      await expect(starting(RateLimit({ limiter: 'api', headers: 'x' as never }), 'class')).rejects.toThrow(
        '@RateLimit() of Cats: headers must be',
      )
      await expect(starting(RateLimit([{ limiter: 'api', kee: 1 } as never]), 'class')).rejects.toThrow(
        /^@RateLimit\(\) of Cats has no option "kee", did you mean "key"\?/,
      )
      await expect(starting(RateLimit('api' as never), 'class')).rejects.toThrow(
        '@RateLimit() of Cats takes options such as { limiter: … }, got "api"',
      )
      await expect(starting(RateLimit(), 'class')).rejects.toThrow('@RateLimit() of Cats: limiter must be a limiter')
      const imports = [RateLimitModule.forRootAsync({ useFactory: () => ({ limiter: 5 as never }) })]
      await expect(start({ imports })).rejects.toThrow('limiter must be a limiter made by createLimiter()')
    })
  })
}

function recordingFilter({ common }: Nest, errors: string[]) {
  class Recording {
    catch(error: Error, host: { getArgByIndex(index: number): never }): void {
      errors.push(error.message)
      ;(host.getArgByIndex(1) as { status(code: number): { send(body: string): void } }).status(500).send('failed')
    }
  }
  common.Catch()(Recording)
  return new Recording()
}
