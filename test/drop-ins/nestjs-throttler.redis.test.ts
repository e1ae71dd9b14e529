import { patient } from '../patient.ts'
import 'reflect-metadata'
import { createRequire } from 'node:module'
import * as common12 from '@nestjs/common'
import * as core12 from '@nestjs/core'
import * as throttler12 from '@nestjs/throttler'
import { describe, expect, it } from 'vitest'
import { throttlerStorage } from '../../src/adapters/nestjs-throttler/index.ts'
import { slidingWindow, tokenBucket } from '../../src/rules/index.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { ask, describeDropIn, describeOnStores, keepSites, keyOf, type Site, statuses } from './drop-in-suite.ts'

const from10 = createRequire(new URL('../nestjs-10/package.json', import.meta.url))
const from11 = createRequire(new URL('../nestjs-11/package.json', import.meta.url))

interface Nest {
  readonly common: typeof common12
  readonly core: typeof core12
  readonly throttler: typeof throttler12
}

const versions: readonly (readonly [string, Nest])[] = [
  ['NestJS 12', { common: common12, core: core12, throttler: throttler12 }],
  [
    'NestJS 11',
    { common: from11('@nestjs/common'), core: from11('@nestjs/core'), throttler: from11('@nestjs/throttler') },
  ],
  [
    'NestJS 10',
    { common: from10('@nestjs/common'), core: from10('@nestjs/core'), throttler: from10('@nestjs/throttler') },
  ],
]

// It runs on no NestJS after 10.
const THROTTLER_5: Nest = { ...(versions[2] as (typeof versions)[2])[1], throttler: from10('nestjs-throttler5') }

type Options = Exclude<throttler12.ThrottlerModuleOptions, unknown[]>

/** A site of one controller. Decorators are called as functions, which is what the compiler makes of them. */
async function site({ common, core, throttler }: Nest, options: Options): Promise<Site> {
  class HelloController {
    hello(): string {
      return 'hello'
    }
    more(): string {
      return 'more'
    }
  }
  for (const [method, path] of [
    ['hello', '/'],
    ['more', '/more'],
  ] as const) {
    const found = Object.getOwnPropertyDescriptor(HelloController.prototype, method) as TypedPropertyDescriptor<unknown>
    common.Get(path)(HelloController.prototype, method, found)
  }
  common.Controller()(HelloController)
  class AppModule {}
  const getTracker = async (request: { headers: Record<string, unknown> }): Promise<string> =>
    keyOf(request.headers['x-client'])
  common.Module({
    imports: [throttler.ThrottlerModule.forRoot({ getTracker: getTracker as never, ...options })],
    controllers: [HelloController],
    providers: [{ provide: core.APP_GUARD, useClass: throttler.ThrottlerGuard }],
  })(AppModule)
  const app = await core.NestFactory.create(AppModule, { logger: false })
  await app.listen(0, '127.0.0.1')
  return { url: await app.getUrl(), stop: () => app.close() }
}

describe.each(versions)('throttlerStorage on %s', (_, nest) => {
  describeDropIn(({ options, limit, windowMs }) =>
    site(nest, {
      // No block: the rule alone decides. 6.5.0 takes 0 for "as long as the ttl".
      throttlers: [{ limit, ttl: windowMs, blockDuration: -1 }],
      storage: throttlerStorage(options),
      // As it is instead of hashed, so that the storage gets what is hostile.
      generateKey: (_context, tracker) => tracker,
    }),
  )
})

describe.each(versions)('throttlerStorage and the options of @nestjs/throttler, on %s,', (_, nest) => {
  const keep = keepSites()
  const start = (options: Options): Promise<Site> => keep(site(nest, options))

  describeOnStores((createStore, name) => {
    it('blocks for blockDuration, however often the client tries, and counts from 1 after it', async () => {
      const clock = manualClock(1_000_000)
      const storage = throttlerStorage({ ...patient, store: createStore(), name: name(), clock })
      const app = await start({ throttlers: [{ limit: 3, ttl: 60_000, blockDuration: 5_000 }], storage })
      expect(await statuses(app, 3)).toEqual([200, 200, 200])
      clock.advance(1_000)
      const refused = await ask(app)
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5'])
      for (let waitedMs = 0; waitedMs < 5_000; waitedMs += 100) {
        expect(await statuses(app, 1)).toEqual([429])
        clock.advance(100)
      }
      const passed = await ask(app)
      expect([passed.status, passed.headers.get('x-ratelimit-remaining')]).toEqual([200, '2'])
      expect(await statuses(app, 3)).toEqual([200, 200, 429])
    })

    it('lets no more than the limit pass in a ttl, but for what passes after a block', async () => {
      const clock = manualClock(1_000_000)
      const storage = throttlerStorage({ ...patient, store: createStore(), name: name(), clock })
      const app = await start({ throttlers: [{ limit: 3, ttl: 1_000, blockDuration: 500 }], storage })
      expect(await statuses(app, 3)).toEqual([200, 200, 200])
      clock.advance(490)
      expect(await statuses(app, 1)).toEqual([429])
      clock.advance(500)
      expect(await statuses(app, 3)).toEqual([200, 200, 200])
      // The ttl of the very first hits ends, and that of the last ones does not.
      clock.advance(10)
      expect(await statuses(app, 3)).toEqual([429, 429, 429])
      clock.advance(500)
      expect(await statuses(app, 4)).toEqual([200, 200, 200, 429])
    })

    it('starts one block for many refusals, and refunds nothing that was counted after it', async () => {
      const clock = manualClock(1_000_000)
      const storage = throttlerStorage({ ...patient, store: createStore(), name: name(), clock })
      const hit = async (): Promise<boolean> => !(await storage.increment('ada', 60_000, 3, 5, 'default')).isBlocked
      for (let round = 0; round < 20; round++) {
        const passed = await Promise.all(Array.from({ length: 50 }, hit))
        expect([round, passed.filter(Boolean).length]).toEqual([round, 3])
        clock.advance(5)
      }
    })

    it('blocks for the ttl without a blockDuration', async () => {
      const clock = manualClock(1_000_000)
      const storage = throttlerStorage({ ...patient, store: createStore(), name: name(), clock })
      const app = await start({ throttlers: [{ limit: 1, ttl: 10_000 }], storage })
      await ask(app)
      clock.advance(9_000)
      expect((await ask(app)).headers.get('retry-after')).toBe('10')
      clock.advance(9_999)
      expect(await statuses(app, 1)).toEqual([429])
      clock.advance(1)
      expect(await statuses(app, 2)).toEqual([200, 429])
    })

    it.each([0, -1])('does not fail with a blockDuration of %d', async (blockDuration) => {
      const storage = throttlerStorage({ ...patient, store: createStore(), name: name() })
      const app = await start({ throttlers: [{ limit: 1, ttl: 60_000, blockDuration }], storage })
      expect(await statuses(app, 3)).toEqual([200, 429, 429])
    })

    it.each([
      ['a token bucket', (limit: number, ttl: number) => tokenBucket({ capacity: limit, refill: 1, period: ttl })],
      ['a sliding window', (limit: number, ttl: number) => slidingWindow({ limit, window: ttl })],
    ])('counts from 1 after a block by %s too', async (_rule, rule) => {
      const clock = manualClock(1_000_000)
      const storage = throttlerStorage({ ...patient, store: createStore(), name: name(), rule, clock })
      const app = await start({ throttlers: [{ limit: 3, ttl: 60_000, blockDuration: 1_000 }], storage })
      expect(await statuses(app, 4)).toEqual([200, 200, 200, 429])
      clock.advance(1_000)
      expect(await statuses(app, 4)).toEqual([200, 200, 200, 429])
    })

    it('admits exactly the limit of a burst, and exactly the limit again after the block', async () => {
      const clock = manualClock(1_000_000)
      const storage = throttlerStorage({ ...patient, store: createStore(), name: name(), clock })
      const app = await start({ throttlers: [{ limit: 20, ttl: 60_000, blockDuration: 1_000 }], storage })
      for (let round = 0; round < 3; round++) {
        const answers = await Promise.all(Array.from({ length: 100 }, () => ask(app)))
        expect(answers.filter(({ status }) => status === 200)).toHaveLength(20)
        clock.advance(1_000)
      }
    })

    it('keeps the count of a tracker whose limit changes', async () => {
      const storage = throttlerStorage({ ...patient, store: createStore(), name: name() })
      const limits = [2, 2, 2, 4, 4, 4, 3]
      const limit = (): number => limits.shift() as number
      const app = await start({ throttlers: [{ limit, ttl: 60_000, blockDuration: -1 }], storage })
      expect(await statuses(app, 7)).toEqual([200, 200, 429, 200, 200, 429, 429])
    })

    it('counts throttlers and handlers apart', async () => {
      const clock = manualClock(1_000_000)
      const storage = throttlerStorage({ ...patient, store: createStore(), name: name(), clock })
      const throttlers = [
        { name: 'short', limit: 2, ttl: 1_000, blockDuration: -1 },
        { name: 'long', limit: 3, ttl: 60_000, blockDuration: -1 },
      ]
      const app = await start({ throttlers, storage })
      expect(await statuses(app, 3)).toEqual([200, 200, 429])
      clock.advance(1_000)
      const last = [await ask(app), await ask(app)]
      expect(last.map(({ status }) => status)).toEqual([200, 429])
      expect(last[1]?.headers.get('retry-after-long')).toBe('59')
      expect(await statuses(app, 2, 'ada', '/more')).toEqual([200, 200])
    })

    it('counts throttlers apart also when generateKey leaves their names out', async () => {
      const storage = throttlerStorage({ ...patient, store: createStore(), name: name() })
      const throttlers = [
        { name: 'one', limit: 1, ttl: 60_000 },
        { name: 'two', limit: 1, ttl: 60_000 },
      ]
      const app = await start({ throttlers, storage, generateKey: (_context, tracker) => tracker })
      expect(await statuses(app, 2)).toEqual([200, 429])
    })

    it('serves the next application of the process, too', async () => {
      const storage = throttlerStorage({ ...patient, store: createStore(), name: name() })
      const options = (): Options => ({ throttlers: [{ limit: 3, ttl: 60_000, blockDuration: -1 }], storage })
      const first = await site(nest, options())
      expect(await statuses(first, 2)).toEqual([200, 200])
      await first.stop()
      // The store was passed in, and has kept what was counted.
      const second = await site(nest, options())
      expect(await statuses(second, 2)).toEqual([200, 429])
      await second.stop()
      expect(await statuses(await start(options()), 1)).toEqual([429])
    })

    it('serves applications at the same time, and the one that is left when the other ends', async () => {
      const storage = throttlerStorage({ ...patient, store: createStore(), name: name() })
      const options = (): Options => ({ throttlers: [{ limit: 3, ttl: 60_000, blockDuration: -1 }], storage })
      const first = await site(nest, options())
      const second = await start(options())
      expect([await statuses(first, 1), await statuses(second, 1)]).toEqual([[200], [200]])
      await first.stop()
      expect(await statuses(second, 2)).toEqual([200, 429])
    })

    it('lets nothing pass at a limit of 0', async () => {
      const storage = throttlerStorage({ ...patient, store: createStore(), name: name() })
      const app = await start({ throttlers: [{ limit: () => 0, ttl: 60_000, blockDuration: 1_500 }], storage })
      const refused = await ask(app)
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '2'])
    })
  })

  it('needs no configuration, and forgets what it counted when its last application has ended', async () => {
    const storage = throttlerStorage()
    const options = (): Options => ({ throttlers: [{ limit: 2, ttl: 60_000 }], storage })
    const first = await site(nest, options())
    const second = await start(options())
    expect(await statuses(first, 1)).toEqual([200])
    await first.stop()
    expect(await statuses(second, 2)).toEqual([200, 429])
    await second.stop()
    expect(await statuses(await start(options()), 3)).toEqual([200, 200, 429])
  })
})

describe('throttlerStorage behind @nestjs/throttler 5, which does not give the limit,', () => {
  const keep = keepSites()
  const start = (options: Options): Promise<Site> => keep(site(THROTTLER_5, options))

  describeOnStores((createStore, name) => {
    it('admits exactly the limit of 200 requests at once', async () => {
      const storage = throttlerStorage({ ...patient, store: createStore(), name: name() })
      const app = await start({ throttlers: [{ limit: 50, ttl: 600_000 }], storage })
      const answers = await Promise.all(Array.from({ length: 200 }, () => ask(app)))
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(50)
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(150)
    })

    it('opens a window with the first hit and says when it ends, however often the client tries', async () => {
      const clock = manualClock(1_003_000)
      const storage = throttlerStorage({ ...patient, store: createStore(), name: name(), clock })
      const app = await start({ throttlers: [{ limit: 2, ttl: 10_000 }], storage })
      expect((await ask(app)).headers.get('x-ratelimit-remaining')).toBe('1')
      clock.advance(2_500)
      expect(await statuses(app, 4)).toEqual([200, 429, 429, 429])
      expect((await ask(app)).headers.get('retry-after')).toBe('8')
      clock.advance(7_499)
      expect(await statuses(app, 1)).toEqual([429])
      clock.advance(1)
      expect(await statuses(app, 3)).toEqual([200, 200, 429])
    })

    it('counts throttlers, handlers and clients apart', async () => {
      const storage = throttlerStorage({ ...patient, store: createStore(), name: name() })
      const throttlers = [
        { name: 'short', limit: 2, ttl: 1_000_000 },
        { name: 'long', limit: 3, ttl: 2_000_000 },
      ]
      const app = await start({ throttlers, storage })
      expect(await statuses(app, 3)).toEqual([200, 200, 429])
      expect(await statuses(app, 3, 'ada', '/more')).toEqual([200, 200, 429])
      expect(await statuses(app, 1, 'bob')).toEqual([200])
    })
  })
})
