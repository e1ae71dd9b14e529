import { Readable } from 'node:stream'
import type * as Common from '@nestjs/common'
import type { ArgumentsHost, ExecutionContext, HttpServer, INestApplication, Provider, Type } from '@nestjs/common'
import type * as Core from '@nestjs/core'
import type { Decision } from 'sluice'
import type * as Adapter from 'sluice/nestjs'
import type { App, AppConfig, Frame } from './frame.ts'

/** One version of Nest, with the adapter as it loads it. */
export interface Nest {
  readonly common: typeof Common
  readonly core: typeof Core
  readonly adapter: typeof Adapter
  /** What the application listens with, behind this many proxies. */
  platform(hops?: number): HttpServer
}

/** What an application of a test is made of. */
export interface Parts {
  readonly controllers?: Type[]
  readonly providers?: Provider[]
  readonly imports?: Common.ModuleMetadata['imports']
  readonly hops?: number
  readonly before?: (app: INestApplication) => void
}

/** Applies decorators to a method by hand: these files are compiled without decorators. */
export function decorate(type: Type, name: string, ...decorators: (MethodDecorator | ParameterDecorator)[]): void {
  const descriptor = Object.getOwnPropertyDescriptor(type.prototype, name) as PropertyDescriptor
  for (const decorator of decorators.reverse()) (decorator as MethodDecorator)(type.prototype, name, descriptor)
}

/** Starts an application on a free port of the loopback interface. */
export async function startNest(
  { common, core, platform }: Nest,
  parts: Parts,
): Promise<App & { app: INestApplication }> {
  const { imports = [], controllers = [], providers = [], hops, before } = parts
  class AppModule {}
  common.Module({ imports, controllers, providers })(AppModule)
  const app = await core.NestFactory.create(AppModule, platform(hops) as never, {
    logger: false,
    abortOnError: false,
    forceCloseConnections: true,
  })
  before?.(app)
  await app.listen(0, '127.0.0.1')
  return { app, url: (await app.getUrl()).replace('[::1]', '127.0.0.1'), close: () => app.close() }
}

/** The guard for the whole application. */
export function appGuard({ core, adapter }: Nest): Provider {
  return { provide: core.APP_GUARD, useClass: adapter.RateLimitGuard }
}

/** The frame of a version of Nest for the suite of all adapters. */
export function nestFrame(name: string, nest: Nest): Frame<ExecutionContext> {
  return {
    name,
    header: (context, header) => nest.adapter.getRequest(context).headers[header],
    start: (config) => startFrame(nest, config),
  }
}

function startFrame(nest: Nest, config: AppConfig<ExecutionContext>): Promise<App> {
  const { app, route, hops, teapot, ownBody, slow } = config
  const { common, adapter } = nest
  class Everything {
    answer(decision: Decision | undefined): object {
      return { remaining: decision?.remaining ?? null }
    }
    post(decision: Decision | undefined): object {
      return this.answer(decision)
    }
    options(decision: Decision | undefined): object {
      return this.answer(decision)
    }
    route(decision: Decision | undefined): object {
      return this.answer(decision)
    }
    fail(): void {
      throw new common.InternalServerErrorException()
    }
    denied(): void {
      throw new common.UnauthorizedException()
    }
    throws(): void {
      throw new Error('thrown')
    }
    async slow(): Promise<string> {
      await slow?.()
      return 'slow'
    }
    stream(): Common.StreamableFile {
      async function* chunks(): AsyncGenerator<Buffer> {
        yield Buffer.from('one ')
        await slow?.()
        yield Buffer.from('two')
      }
      return new common.StreamableFile(Readable.from(chunks()))
    }
  }
  common.Controller()(Everything)
  decorate(Everything, 'answer', common.Get())
  decorate(Everything, 'post', common.Post(), common.HttpCode(200))
  decorate(Everything, 'options', common.Options())
  decorate(Everything, 'route', common.Get('route'))
  for (const method of ['answer', 'post', 'options', 'route']) {
    adapter.RateLimitDecision()(Everything.prototype, method, 0)
  }
  decorate(Everything, 'fail', common.Get('fail'))
  decorate(Everything, 'denied', common.Get('denied'))
  decorate(Everything, 'throws', common.Get('throw'))
  decorate(Everything, 'slow', common.Get('slow'))
  decorate(Everything, 'stream', common.Get('stream'))
  // For the whole app by the module; where a route has options too, by decorators.
  if (app !== undefined && route !== undefined) adapter.RateLimit(app)(Everything)
  if (route !== undefined) decorate(Everything, 'route', adapter.RateLimit(app === undefined ? route : [app, route]))
  const onRefused = (_: ExecutionContext, { retryAfterMs }: Decision) => ({ wait: retryAfterMs })
  return startNest(nest, {
    imports: [
      adapter.RateLimitModule.forRoot({ ...(route === undefined && app), ...(ownBody === true && { onRefused }) }),
    ],
    controllers: [Everything],
    providers: [appGuard(nest)],
    ...(hops !== undefined && { hops }),
    before: (created) => {
      if (teapot === true) created.useGlobalFilters(teapotFilter(nest, created))
    },
  })
}

function teapotFilter({ common, adapter }: Nest, app: INestApplication): Common.ExceptionFilter {
  class Teapot {
    catch({ decision }: Adapter.RateLimitException, host: ArgumentsHost): void {
      app.getHttpAdapter().reply(host.getArgByIndex(1), `teapot ${decision?.retryAfterMs}`, 418)
    }
  }
  common.Catch(adapter.RateLimitException)(Teapot)
  return new Teapot()
}
