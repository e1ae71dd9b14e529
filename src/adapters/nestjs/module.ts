import {
  type DynamicModule,
  type FactoryProvider,
  Inject,
  Module,
  type ModuleMetadata,
  type OnApplicationShutdown,
  type OnModuleInit,
  type Provider,
} from '@nestjs/common'
import { DiscoveryModule, DiscoveryService } from '@nestjs/core'
import { listDecorated } from './decorators.ts'
import { RateLimitGuard } from './guard.ts'
import type { RateLimitModuleOptions } from './options.ts'
import { RateLimits } from './rate-limits.ts'

/** Options of `RateLimitModule.forRootAsync()`. */
export interface RateLimitModuleAsyncOptions extends Pick<ModuleMetadata, 'imports'> {
  /** What the factory is called with. */
  readonly inject?: NonNullable<FactoryProvider['inject']>
  /** Makes the options, and usually the limiters, when the application starts. */
  // biome-ignore lint/suspicious/noExplicitAny: as Nest's own: its arguments are those that `inject` names, and tiers may be any.
  readonly useFactory: (...injected: any[]) => RateLimitModuleOptions<any> | Promise<RateLimitModuleOptions<any>>
}

/**
 * Brings the limiters of an application, for all of its modules. Only `RateLimitGuard` limits requests. When the
 * application starts, the options of every `@RateLimit()` are checked.
 */
export class RateLimitModule implements OnModuleInit, OnApplicationShutdown {
  readonly #limits: RateLimits
  readonly #discovery: DiscoveryService

  /** With options that are known already. Wrong ones throw here. */
  static forRoot<Tier extends string = never>(options: RateLimitModuleOptions<Tier>): DynamicModule {
    const limits = new RateLimits('RateLimitModule.forRoot()', options as RateLimitModuleOptions<string>)
    return createModule({ provide: RateLimits, useValue: limits })
  }

  /** With options that need something of other modules, such as the configuration or a Redis client. */
  static forRootAsync({ imports = [], inject = [], useFactory }: RateLimitModuleAsyncOptions): DynamicModule {
    const create: RateLimitModuleAsyncOptions['useFactory'] = useFactory
    return createModule(
      {
        provide: RateLimits,
        inject,
        useFactory: async (...injected) => new RateLimits('RateLimitModule.forRootAsync()', await create(...injected)),
      },
      imports,
    )
  }

  constructor(limits: RateLimits, discovery: DiscoveryService) {
    this.#limits = limits
    this.#discovery = discovery
  }

  onModuleInit(): void {
    for (const { metatype } of [...this.#discovery.getControllers(), ...this.#discovery.getProviders()]) {
      if (typeof metatype !== 'function') continue
      for (const [where, decorated] of listDecorated(metatype)) this.#limits.resolveLimits(decorated, () => where)
    }
  }

  onApplicationShutdown(): Promise<void> {
    return this.#limits.close()
  }
}

Module({})(RateLimitModule)
Inject(RateLimits)(RateLimitModule, undefined, 0)
Inject(DiscoveryService)(RateLimitModule, undefined, 1)

function createModule(limits: Provider, imports: NonNullable<ModuleMetadata['imports']> = []): DynamicModule {
  return {
    module: RateLimitModule,
    global: true,
    imports: [DiscoveryModule, ...imports],
    providers: [limits, RateLimitGuard],
    exports: [RateLimits, RateLimitGuard],
  }
}
