import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { createLimiter } from '../../src/limiter/create-limiter.ts'
import { slidingWindow } from '../../src/rules/sliding-window/sliding-window.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { getScript, listScripts } from '../../src/stores/redis/script-catalog.ts'
import { patient } from '../patient.ts'
import { type OpenClient, redisClients } from '../redis-clients/redis-clients.ts'
import { useTopologies } from '../redis-clients/topologies.ts'
import { ask } from '../servers/ask.ts'
import type { SharedServers } from '../servers/shared-servers.ts'

let servers: SharedServers
beforeAll(async () => {
  servers = await useTopologies()
}, 60_000)
beforeEach(() => onEveryPrimary('SCRIPT', 'FLUSH'))

const onEveryPrimary = (...command: [string, ...string[]]): Promise<unknown[]> =>
  Promise.all(servers.cluster.nodes.map((node) => ask(node, ...command)))

describe.each(redisClients.filter((entry) => entry.topology === 'cluster'))('on $title', (entry) => {
  let opened: OpenClient
  beforeAll(async () => {
    opened = await entry.open(servers)
  })
  afterAll(() => opened?.close())

  it('the first decision loads its script on every primary', async () => {
    const { sha1 } = getScript('sliding-window')
    const rule = slidingWindow({ limit: 5, window: 60_000 })
    await createLimiter({ name: 'first', rule, ...patient, store: redisStore(opened.client) }).consume('a')
    await vi.waitFor(async () => {
      expect(await onEveryPrimary('SCRIPT', 'EXISTS', sha1)).toEqual([[1], [1], [1]])
    })
  })

  it('warmUp loads all scripts on every primary', async () => {
    await redisStore(opened.client).warmUp()
    const known = listScripts().map(() => 1)
    const hashes = listScripts().map((script) => script.sha1)
    expect(await onEveryPrimary('SCRIPT', 'EXISTS', ...hashes)).toEqual([known, known, known])
  })

  it('subjects are spread over the primaries, and each is decided on its own', async () => {
    await onEveryPrimary('FLUSHALL')
    const rule = slidingWindow({ limit: 2, window: 600_000 })
    const store = redisStore(opened.client)
    // A decision whose server does not know the script yet is sent again, after those that found it.
    await store.warmUp()
    const limiter = createLimiter({ name: 'spread', rule, ...patient, store })
    const subjects = Array.from({ length: 60 }, (_, index) => `user{${index % 3}}:${index}`)
    const consumed = await Promise.all(
      [...subjects, ...subjects, ...subjects].map((subject) => limiter.consume(subject)),
    )
    expect(consumed.map((decision) => decision.remaining)).toEqual([
      ...subjects.map(() => 1),
      ...subjects.map(() => 0),
      ...subjects.map(() => 0),
    ])
    expect(consumed.filter((decision) => decision.allowed)).toHaveLength(120)
    const sizes = (await onEveryPrimary('DBSIZE')) as number[]
    expect(sizes.reduce((sum, size) => sum + size)).toBe(60)
    for (const size of sizes) expect(size).toBeGreaterThan(5)
  })
})
