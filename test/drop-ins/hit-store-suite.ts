import { expect, it } from 'vitest'
import type { DropInOptions } from '../../src/adapters/drop-in/drop-in-options.ts'
import type { HitStore } from '../../src/adapters/drop-in/hit-store.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { patient } from '../patient.ts'
import { ask, describeOnStores, keepSites, type Site, statuses } from './drop-in-suite.ts'

/** What a client behind express-rate-limit or hono-rate-limiter gets. */
export interface HitSiteOptions {
  readonly store: HitStore
  /** `'x-limit'`: a function that reads the limit from this header. */
  readonly limit: number | 'x-limit'
  readonly windowMs: number
  readonly skipFailedRequests?: boolean
  readonly skipSuccessfulRequests?: boolean
  /** Runs in the handler, with the path. The answer has the status that the path names: `/404`, or 200. */
  readonly onRequest?: (path: string) => Promise<void> | void
}

/** What has to hold of the options that libraries with such a store have in common. `atZero` is the library's answer at a limit of 0. */
export function describeHitStore(
  startSite: (options: HitSiteOptions) => Promise<Site>,
  create: (options: DropInOptions) => HitStore,
  atZero: 200 | 429 = 429,
): void {
  const keep = keepSites()
  const start = (options: HitSiteOptions): Promise<Site> => keep(startSite(options))

  describeOnStores((createStore, name) => {
    it('does not count what failed with skipFailedRequests', async () => {
      const store = create({ ...patient, store: createStore(), name: name() })
      const site = await start({ limit: 2, windowMs: 60_000, skipFailedRequests: true, store })
      for (let request = 0; request < 5; request++) {
        expect(await statuses(site, 1, 'ada', '/404')).toEqual([404])
        await settled(store, 0)
      }
      expect(await statuses(site, 3)).toEqual([200, 200, 429])
    })

    it('does not count what succeeded with skipSuccessfulRequests', async () => {
      const store = create({ ...patient, store: createStore(), name: name() })
      const site = await start({ limit: 2, windowMs: 60_000, skipSuccessfulRequests: true, store })
      for (let request = 0; request < 5; request++) {
        expect(await statuses(site, 1)).toEqual([200])
        await settled(store, 0)
      }
      expect(await statuses(site, 3, 'ada', '/401')).toEqual([401, 401, 429])
    })

    it('still refunds what failed after others were refused', async () => {
      const store = create({ ...patient, store: createStore(), name: name() })
      let finish = (): void => {}
      const held = new Promise<void>((resolve) => {
        finish = resolve
      })
      const site = await start({ limit: 1, windowMs: 60_000, skipFailedRequests: true, store, onRequest: () => held })
      const slow = ask(site, 'ada', '/500')
      await settled(store, 1)
      expect(await statuses(site, 5)).toEqual([429, 429, 429, 429, 429])
      finish()
      expect((await slow).status).toBe(500)
      await settled(store, 0)
    })

    it('refunds into the window that it was taken from, and not into the next', async () => {
      const clock = manualClock(1_000_000)
      const options = { ...patient, store: createStore(), name: name(), clock }
      const store = create(options)
      const elsewhere = create(options)
      elsewhere.init({ limit: 2, windowMs: 60_000 })
      const onRequest = async (path: string): Promise<void> => {
        if (path !== '/500') return
        clock.advance(60_000)
        await elsewhere.increment('ada')
      }
      const site = await start({ limit: 2, windowMs: 60_000, skipFailedRequests: true, store, onRequest })
      expect(await statuses(site, 1, 'ada', '/500')).toEqual([500])
      expect(await statuses(site, 2)).toEqual([200, 429])
      expect((await store.get('ada'))?.totalHits).toBe(2)
    })

    it('leaves nothing negative when a refund comes after the end of the window', async () => {
      const clock = manualClock(1_000_000)
      const store = create({ ...patient, store: createStore(), name: name(), clock })
      const site = await start({ limit: 2, windowMs: 1_000, store })
      await ask(site)
      clock.advance(1_000)
      for (let call = 0; call < 5; call++) await store.decrement('ada')
      expect(await store.get('ada')).toBeUndefined()
      expect(await statuses(site, 3)).toEqual([200, 200, 429])
    })

    it('forgets a client by resetKey', async () => {
      const store = create({ ...patient, store: createStore(), name: name() })
      const site = await start({ limit: 2, windowMs: 60_000, store })
      expect(await statuses(site, 3)).toEqual([200, 200, 429])
      await store.resetKey('ada')
      expect(await statuses(site, 3)).toEqual([200, 200, 429])
    })

    it('forgets all keys by resetAll, also one that it has just refused, and none of another limit', async () => {
      const shared = createStore()
      const store = create({ ...patient, store: shared, name: `${name()}[*]` })
      const other = create({ ...patient, store: shared, name: `${name()}[*]` })
      const site = await start({ limit: 2, windowMs: 60_000, store })
      const otherSite = await start({ limit: 1, windowMs: 60_000, store: other })
      const clients = ['ada', 'bob', 'a{b}', 'c*']
      for (const client of clients) expect(await statuses(site, 3, client)).toEqual([200, 200, 429])
      expect(await statuses(otherSite, 1)).toEqual([200])
      await store.resetAll()
      for (const client of clients) expect(await statuses(site, 3, client)).toEqual([200, 200, 429])
      expect(await statuses(otherSite, 1)).toEqual([429])
    })

    it('notices what another process resets at once where denialCache is false, and after a second otherwise', async () => {
      const clock = manualClock(1_000_000)
      const made = (denialCache?: false): HitStore => {
        const told = denialCache === undefined ? {} : { denialCache }
        const store = create({ ...patient, store: createStore(), name: name(), clock, ...told })
        store.init({ limit: 1, windowMs: 60_000 })
        return store
      }
      const [asking, remembering, other] = [made(false), made(), made()]
      const hits = async (store: HitStore): Promise<number> => (await store.increment('ada')).totalHits
      expect([await hits(asking), await hits(asking), await hits(remembering)]).toEqual([1, 2, 2])
      await other.resetKey('ada')
      // Memory is asked every time: it has no other processes.
      expect(await hits(remembering)).toBe(createStore().isLocal ? 1 : 2)
      await other.resetKey('ada')
      expect(await hits(asking)).toBe(1)
      await other.resetKey('ada')
      clock.advance(1_000)
      expect(await hits(remembering)).toBe(1)
    })

    it('counts every hit when the limit is a function, which decides', async () => {
      const store = create({ ...patient, store: createStore(), name: name() })
      const site = await start({ limit: 'x-limit', windowMs: 60_000, store })
      const answers: number[] = []
      for (const limit of [2, 2, 2, 3, 9]) {
        answers.push((await ask(site, 'ada', '/', { headers: { 'x-limit': `${limit}` } })).status)
      }
      expect(answers).toEqual([200, 200, 429, 429, 200])
    })

    it(`answers with ${atZero} at a limit of 0`, async () => {
      const store = create({ ...patient, store: createStore(), name: name() })
      const site = await start({ limit: 0, windowMs: 60_000, store })
      expect(await statuses(site, 3)).toEqual([atZero, atZero, atZero])
    })
  })

  it('needs no configuration', async () => {
    const site = await start({ limit: 1, windowMs: 60_000, store: create({}) })
    expect(await statuses(site, 2)).toEqual([200, 429])
  })
}

/** Resolves when the client has this many hits: a library may refund after it has answered. */
export async function settled(store: HitStore, hits: number): Promise<void> {
  await expect.poll(async () => (await store.get('ada'))?.totalHits ?? 0).toBe(hits)
}
