import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { RedisClient } from '../../src/stores/redis/clients/connect.ts'
import { loadGlide } from '../redis-clients/glide-clients.ts'
import { type RedisClientEntry, redisClients } from '../redis-clients/redis-clients.ts'
import { ask } from '../servers/ask.ts'
import type { RunningServer } from '../servers/start-server.ts'
import type { TcpProxy } from '../servers/tcp-proxy.ts'
import { waitUntil } from '../servers/wait-until.ts'
import { LIMIT, type OneLimit, openOneLimit, serverNameOf } from './one-limit.ts'
import { type ProxiedTopologies, startProxiedTopologies } from './proxied-topologies.ts'

let topologies: ProxiedTopologies

beforeAll(async () => {
  topologies = await startProxiedTopologies()
})
afterAll(() => topologies?.stop())

const DEADLINE_MS = 300
// Where the test is not about the deadline: a busy machine must not miss it.
const PATIENT_MS = 8_000
const LONGEST_RESEND_MS = 2_000
/** So much later a busy machine may say that something was given up. No client gives up of itself so soon. */
const BUSY_MS = 3_000

// GLIDE sends what was asked while it was away, unless its own time for it is over: the tests give it ten seconds.
const isGlide = ({ title }: RedisClientEntry) => title.startsWith('Valkey GLIDE')

describe.each(redisClients.filter((entry) => !isGlide(entry)))('$title', (entry) => {
  it('never counts calls of an outage that were given up', async () => {
    const { client, primary, proxy } = await connected(entry)
    await expectNothingOfAnOutage(client, primary, proxy, randomUUID())
  })

  it('decides calls of an outage if the server is back before the deadline', async () => {
    const { client, primary, proxy } = await connected(entry)
    const oneLimit = openOneLimit(client, PATIENT_MS)
    await oneLimit.take('before')
    await proxy.refuse()
    proxy.cut()
    // Until the client has noticed, what it writes is lost.
    await delay(100)
    const key = randomUUID()
    const asked = oneLimit.take(key)
    await delay(100)
    await proxy.accept()
    expect((await asked).remaining).toBe(LIMIT - 1)
    expect(await usedOf(primary, key)).toBe(1)
  })
})

it.each([
  ['Valkey GLIDE', 'decided'],
  ['Valkey GLIDE cluster', 'Redis did not decide by fixed-window: Connection in recovery- ClientError'],
])('%s is called while the server does not answer: %s', async (title, outcome) => {
  const { client, proxy } = await connected(redisClients.find((entry) => entry.title === title) as RedisClientEntry)
  const oneLimit = openOneLimit(client, PATIENT_MS)
  await oneLimit.take('before')
  await proxy.refuse()
  proxy.cut()
  await delay(100)
  const asked = oneLimit.take(randomUUID()).then(
    () => 'decided',
    (error) => error.message,
  )
  await delay(100)
  await proxy.accept()
  expect(await asked).toBe(outcome)
})

it('Valkey GLIDE does not either, if its own time is not longer than the deadline', async () => {
  const { GlideClient } = await loadGlide()
  const { primary, proxy } = topologies.behind.single
  const addresses = [{ host: proxy.host, port: proxy.port }]
  const client = await GlideClient.createClient({ addresses, requestTimeout: 200 })
  onTestFinished(() => client.close())
  await expectNothingOfAnOutage(client, primary, proxy, randomUUID())
})

describe('a connection that breaks when the server has decided and before its reply', () => {
  const lost: { readonly title: string; readonly primary: RunningServer; readonly key: string }[] = []

  it.each(redisClients.map((entry) => [entry.title, entry] as const))(
    'fails the decision on %s',
    async (title, entry) => {
      const { client, primary, proxy } = await connected(entry)
      const oneLimit = openOneLimit(client, PATIENT_MS)
      const key = randomUUID()
      await oneLimit.take('before')
      const cuts = proxy.cuts
      proxy.cutAfterSend(1, 'evalsha')
      const words =
        title.startsWith('ioredis') || title.startsWith('iovalkey') || title.endsWith('sentinel') ? LOST : ''
      await oneLimit.expectToFail('STORE_FAILED', words, key)
      expect(proxy.cuts).toBe(cuts + 1)
      lost.push({ title, primary, key })
      // It is of use again, and what it does first is to send again what it sends again.
      await waitUntil(() => whyUseless(oneLimit))
    },
  )

  it('lets it count once, also when the client has long been back', async () => {
    await delay(LONGEST_RESEND_MS)
    const counted = await Promise.all(lost.map(async ({ title, primary, key }) => [title, await usedOf(primary, key)]))
    expect(Object.fromEntries(counted)).toEqual(Object.fromEntries(redisClients.map(({ title }) => [title, 1])))
  })
})

const LOST = 'the connection was lost before the reply, so it is unknown whether the request counted'

/** A client behind the proxy of its kind, with a limit. */
async function connected({ title, open, topology }: RedisClientEntry) {
  const { primary, proxy } = topologies.behind[topology]
  const { client, close } = await open(topologies.servers)
  onTestFinished(async () => {
    await proxy.accept()
    // It would wait for the other side to close.
    if (title.startsWith('io')) proxy.cut()
    await close()
  })
  return { client, primary, proxy }
}

async function expectNothingOfAnOutage(client: RedisClient, primary: RunningServer, proxy: TcpProxy, key: string) {
  const [oneLimit, patient] = [openOneLimit(client, DEADLINE_MS), openOneLimit(client, PATIENT_MS)]
  await patient.take('before')
  await proxy.refuse()
  proxy.cut()
  const outcomes: Promise<unknown>[] = []
  // Some before the client notices, some when it has, some between two of its tries.
  for (let asked = 0; asked < 6; asked++) {
    const startMs = performance.now()
    const outcome = oneLimit.take(key).then(
      () => expect.fail('decided without a server'),
      ({ code }) => expect(code).toBe('STORE_FAILED'),
    )
    outcomes.push(outcome.then(() => expect(performance.now() - startMs).toBeLessThan(DEADLINE_MS + BUSY_MS)))
    await delay(30)
  }
  await Promise.all(outcomes)
  await proxy.accept()
  await waitUntil(() => whyUseless(patient))
  expect(await usedOf(primary, key)).toBe(0)
}

async function whyUseless(oneLimit: OneLimit): Promise<string | undefined> {
  return oneLimit.take('after').then(() => undefined, String)
}

/** How much of a key's limit was used: the state is its time, what was used, and the window. */
async function usedOf(primary: RunningServer, key: string): Promise<number> {
  const read = "local state = redis.call('GET', KEYS[1]) return state and struct.unpack('<d', state, 9) or 0"
  const used = Number(await ask(primary, 'EVAL', read, 1, serverNameOf(key)))
  expect(used).toBeLessThan(LIMIT)
  return used
}
