import { createParamDecorator, type ExecutionContext, SetMetadata } from '@nestjs/common'
import { MetadataScanner, Reflector } from '@nestjs/core'
import type { Decision } from '../../core/decision.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import { findRequest } from './context.ts'
import type { RateLimitOptions } from './options.ts'
import type { Decorated } from './rate-limits.ts'

const KEY = 'sluice:rate-limit'
const reflector = new Reflector()
const scanner = new MetadataScanner()

/**
 * Limits a handler, or all handlers of a controller, gateway or resolver. What stands on the handler takes the place of what stands
 * on its class, and either takes the place of the module's `limiter`; options that are left out are the module's.
 *
 * Several options are several limiters, asked one after the other: a request that the second refuses was counted by the first. A
 * limiter of tiers counts all or nothing, in one step.
 */
export function RateLimit<Tier extends string = never>(
  // biome-ignore lint/suspicious/noExplicitAny: limiters of different tiers stand beside each other.
  options: RateLimitOptions<Tier> | readonly RateLimitOptions<any>[] = {},
): MethodDecorator & ClassDecorator {
  if (Array.isArray(options) && options.length === 0) {
    throw new LimiterError(
      'INVALID_OPTION',
      '@RateLimit() must have at least one limiter, got none. Use @SkipRateLimit() for no limit',
    )
  }
  return SetMetadata(KEY, options)
}

/** Takes the limits of the module, or of its class, off a handler or a class. */
export function SkipRateLimit(): MethodDecorator & ClassDecorator {
  return SetMetadata(KEY, NOTHING)
}

const NOTHING: Decorated = []

/**
 * A parameter: the decision of the last limiter in front of the handler, or `undefined` when it is not limited. In a gateway: the
 * last decision about the client.
 */
export const RateLimitDecision: () => ParameterDecorator = createParamDecorator((_, context: ExecutionContext) => {
  const place = resolvePlace(context)
  return place && decisions.get(place)
})

const decisions = new WeakMap<object, Decision>()

/** Notes a decision for the handler. Requests also have it as the property `rateLimit`. */
export function noteDecision(context: ExecutionContext, decision: Decision): void {
  const place = resolvePlace(context)
  if (place === undefined) return
  decisions.set(place, decision)
  const request = findRequest(context)
  if (request !== undefined) Object.assign(request, { rateLimit: decision })
}

/** Reads the decorator of the handler of a context, or else of its class. */
export function readDecorated(context: ExecutionContext): Decorated | undefined {
  return reflector.getAllAndOverride<Decorated | undefined>(KEY, [context.getHandler(), context.getClass()])
}

/** Lists the decorators of a class and of its methods, with the names of what they decorate. */
// biome-ignore lint/complexity/noBannedTypes: so is the class of a provider typed in Nest.
export function* listDecorated(type: Function): Generator<readonly [string, Decorated]> {
  const places: [string, unknown][] = [[type.name, type]]
  for (const name of scanner.getAllMethodNames(type.prototype))
    places.push([`${type.name}.${name}`, type.prototype[name]])
  for (const [where, place] of places) {
    // biome-ignore lint/complexity/noBannedTypes: so are handlers typed in Nest.
    const decorated = reflector.get<Decorated | undefined>(KEY, place as Function)
    if (decorated !== undefined) yield [where, decorated]
  }
}

// An object that only this run of the handler has, from its guards to its parameters.
function resolvePlace(context: ExecutionContext): object | undefined {
  switch (context.getType<string>()) {
    case 'http':
    case 'ws':
      return context.getArgByIndex(0)
    case 'graphql':
      return context.getArgs().at(-1)
    default:
      return undefined
  }
}
