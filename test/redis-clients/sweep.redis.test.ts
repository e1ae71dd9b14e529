import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLimiter } from '../../src/limiter/create-limiter.ts'
import { fixedWindow } from '../../src/rules/index.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { openLimit } from '../open-limit.ts'
import { patient } from '../patient.ts'
import type { SharedServers } from '../servers/shared-servers.ts'
import { type OpenClient, redisClients } from './redis-clients.ts'
import { useTopologies } from './topologies.ts'

let servers: SharedServers
beforeAll(async () => {
  servers = await useTopologies()
}, 60_000)

const rule = fixedWindow({ limit: 5, window: 600_000 })

describe.each(redisClients)('on $title', (entry) => {
  let opened: OpenClient
  beforeAll(async () => {
    opened = await entry.open(servers)
  })
  afterAll(() => opened?.close())

  it('all keys of one limit are forgotten, and none of another', async () => {
    const store = redisStore(opened.client)
    const [name, other] = [`${entry.title}[*]`, `${entry.title}[?]`]
    const subjects = Array.from({ length: 40 }, (_, index) => `user{${index}}`)
    const used = async (limiterName: string): Promise<number> => {
      const limiter = createLimiter({ name: limiterName, rule, ...patient, store })
      const decisions = await Promise.all(subjects.map((subject) => limiter.peek(subject)))
      return decisions.reduce((sum, { remaining }) => sum + 5 - remaining, 0)
    }
    for (const limiterName of [name, other]) {
      const limiter = createLimiter({ name: limiterName, rule, ...patient, store })
      await Promise.all(subjects.map((subject) => limiter.consume(subject)))
    }
    const cleared = store.clear?.(openLimit(store, { limiter: name, rule }).limit)
    if (entry.topology === 'cluster' && /glide/i.test(entry.title)) {
      await expect(cleared).rejects.toThrow('this Redis client cannot scan every primary')
      return
    }
    await cleared
    expect([await used(name), await used(other)]).toEqual([0, 40])
  })
})

it('a server that does not answer is reported as a failure', async () => {
  const failing = { send: async () => 'x', sendToAll: async () => 'x', sweep: () => Promise.reject(new Error('gone')) }
  const store = redisStore(failing)
  const cleared = store.clear?.(openLimit(store, { limiter: 'x', rule }).limit)
  await expect(cleared).rejects.toMatchObject({ code: 'STORE_FAILED', message: 'Redis did not delete all keys: gone' })
})
