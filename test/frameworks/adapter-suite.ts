import { Redis } from 'ioredis'
import { createLimiter, memoryStore, type Store } from 'sluice'
import { redisStore } from 'sluice/redis'
import { afterAll, afterEach, beforeAll, describe } from 'vitest'
import { patient } from '../patient.ts'
import type { Address } from '../servers/ask.ts'
import { useServer } from '../servers/shared-servers.ts'
import { admission } from './admission.ts'
import { answers } from './answers.ts'
import { counting } from './counting.ts'
import type { App, AppConfig, Frame } from './frame.ts'
import { identity } from './identity.ts'

/** What the parts of the suite work with. */
export interface Stage<Request> {
  readonly frame: Frame<Request>
  /** The store of this round: memory, or a real Redis. */
  store(): Store
  /** A name that no other test has used. */
  name(): string
  /** Starts an app that is closed after the test. */
  start(config: AppConfig<Request>): Promise<App>
  /** Makes a limiter on the store of this round. */
  readonly limiter: typeof createLimiter
}

/** What every adapter promises, asked by whole requests through a real server of the framework, on memory and on Redis. */
export function adapterSuite<Request>(frame: Frame<Request>): void {
  describe.each(['memory', 'redis'])(`${frame.name} on %s`, (kind) => {
    let server: Address | undefined
    let client: Redis | undefined
    let store: Store
    const apps: App[] = []
    beforeAll(async () => {
      server = kind === 'redis' ? await useServer() : undefined
      client = server && new Redis(server.port, server.host, { maxRetriesPerRequest: 0 })
      store = client === undefined ? memoryStore() : redisStore(client)
    })
    afterEach(async () => {
      await Promise.all(apps.splice(0).map((app) => app.close()))
    })
    afterAll(async () => {
      client?.disconnect()
    })
    let names = 0
    const stage: Stage<Request> = {
      frame,
      store: () => store,
      name: () => `${frame.name} ${names++}`,
      async start(config) {
        const app = await frame.start(config)
        apps.push(app)
        return app
      },
      limiter: ((options: object) => createLimiter({ store, ...patient, ...options } as never)) as typeof createLimiter,
    }
    admission(stage)
    counting(stage)
    if (kind === 'redis') return
    identity(stage)
    answers(stage)
  })
}
