import type { FastifyInstance, FastifyPluginAsync, HookHandlerDoneFunction, RouteOptions } from 'fastify'
import { knownOptions, oneOf, trueOrFalse } from '../../core/check.ts'
import type { Decision } from '../../core/decision.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import { byIp } from '../middleware/keys.ts'
import { MIDDLEWARE_OPTIONS } from '../middleware/options.ts'
import { createLimitHook, type LimitHook } from './limit-hook.ts'
import type { FastifyOptions, FastifyPluginOptions, FastifyRouteOptions, RateLimitConfig } from './options.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The decision of the last limiter in front of this handler. */
    rateLimit?: Decision
  }
  interface FastifyInstance<RawServer, RawRequest, RawReply, Logger, TypeProvider> {
    /** A limiter as a hook, for wherever one may stand. The options are merged over those of the plugin. */
    rateLimit(options?: Partial<FastifyOptions<string>>): LimitHook
  }
  // A property written here could not stand beside that of another plugin of this name.
  interface FastifyContextConfig extends RateLimitConfig {}
}

/**
 * A limiter as a plugin of Fastify 4 and 5: `await app.register(rateLimit, { limiter })` limits all routes of the instance that it is
 * registered on. The config of a route changes options, brings a limiter of its own instead, or switches the limiter off;
 * `app.rateLimit()` is a hook for anything else. The decision is in `request.rateLimit`. Errors of the limiter go to the error
 * handler.
 */
export const rateLimit: FastifyPluginAsync<FastifyPluginOptions<string>> = Object.assign(plugin, {
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: 'sluice',
  // By this Fastify 3 and older refuse the plugin at the start. Otherwise each of their requests would fail.
  [Symbol.for('plugin-meta')]: { name: 'sluice', fastify: '>=4' },
})

type Options = FastifyRouteOptions<string>
type Stage = NonNullable<Options['hook']>

const STAGES: readonly Stage[] = ['onRequest', 'preParsing', 'preValidation', 'preHandler']
const OWN = Symbol('a limiter of its own')

async function plugin(app: FastifyInstance, given: FastifyPluginOptions<string>): Promise<void> {
  // The options of register() itself are among these too.
  const { prefix, logLevel, logSerializers, global = true, ...rest } = given as typeof given & Record<string, unknown>
  trueOrFalse('global', global)
  const base = mergeOptions('rateLimit()', { stage: 'onRequest', options: {} }, rest, ['hook', 'global'])
  if (!global) assertDefaults(base)
  limitRoutes(app, base, global ? createHook('rateLimit()', base) : undefined)
  if (!app.hasRequestDecorator('rateLimit')) app.decorateRequest('rateLimit', undefined)
  const make = (more: Options = {}): LimitHook =>
    createHook('app.rateLimit()', mergeOptions('app.rateLimit()', base, more, []))
  // The nearest plugin serves its instance, also below one that has this name already.
  if (app.hasDecorator('rateLimit')) Object.assign(app, { rateLimit: make })
  else app.decorate('rateLimit', make as never)
}

function limitRoutes(app: FastifyInstance, base: Place, everywhere: LimitHook | undefined): void {
  const seen = Symbol('seen')
  app.addHook('onRoute', (route) => {
    const config: RateLimitConfig & { [OWN]?: true } = { ...route.config }
    const { rateLimit: own, [OWN]: isThere = false } = config
    const isBrought = typeof own === 'object' && own?.limiter !== undefined
    route.config = Object.assign(config, { [seen]: true }, isBrought && { [OWN]: true })
    if (own === undefined && everywhere !== undefined) addHook(route, base.stage, everywhere)
    if (own === undefined || own === false) return
    // Where a route is seen by two plugins, a limiter of its own stands there once.
    if (isBrought && isThere) return
    nameRoute(route, () => {
      const place = mergeOptions('config.rateLimit', base, own, ['hook'])
      addHook(route, place.stage, createHook('config.rateLimit', place))
    })
  })
  // Routes that were added before register() was awaited have not seen the hook above.
  app.addHook(base.stage as 'onRequest', (request, reply, ...rest) => {
    // Last, behind the payload where the stage has one. A callback, because every request runs this hook: a promise would cost more.
    const done = rest.at(-1) as HookHandlerDoneFunction
    const config: RateLimitConfig = request.routeOptions.config
    if (seen in config || request.is404) return done()
    if (config.rateLimit === undefined) return everywhere === undefined ? done() : everywhere(request, reply)
    const { method, url } = request.routeOptions
    const fix = 'Write await app.register(rateLimit, …) before the route'
    throw new LimiterError('INVALID_OPTION', `${method} ${url}: config.rateLimit needs the plugin first. ${fix}`)
  })
}

/** Options, and when they are applied. */
interface Place {
  readonly stage: Stage
  readonly options: Partial<FastifyOptions<string>>
}

function mergeOptions(what: string, base: Place, given: object, more: readonly string[]): Place {
  knownOptions(what, given, [...Object.keys(MIDDLEWARE_OPTIONS), ...more])
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  const { hook = base.stage, ...options } = set
  return { stage: oneOf('hook', hook, STAGES), options: { ...base.options, ...options } }
}

// The hook also checks that there is a limiter.
function createHook(what: string, { options }: Place): LimitHook {
  return createLimitHook(what, options as FastifyOptions<string>)
}

/** Checks what routes may change: where only some are limited, each may bring its limiter, or the keys of its tiers. */
function assertDefaults({ stage, options }: Place): void {
  if (options.limiter !== undefined) createHook('rateLimit()', { stage, options: { key: byIp(), ...options } })
}

function addHook(route: RouteOptions, stage: Stage, hook: LimitHook): void {
  const own = route as { [Name in Stage]?: unknown }
  own[stage] = [own[stage] ?? [], hook].flat()
}

function nameRoute(route: RouteOptions, build: () => void): void {
  try {
    build()
  } catch (error) {
    const { code, message } = error as LimiterError
    throw new LimiterError(code, `${[route.method].flat().join(', ')} ${route.url}: ${message}`, { cause: error })
  }
}
