import fc from 'fast-check'
import { Cluster } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Subject } from '../../src/core/key.ts'
import { createLimiter } from '../../src/limiter/create-limiter.ts'
import { fixedWindow } from '../../src/rules/index.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { ask } from '../servers/ask.ts'
import { type ClusterNode, type RunningCluster, startCluster } from '../servers/start-cluster.ts'

let cluster: RunningCluster
let client: Cluster

beforeAll(async () => {
  cluster = await startCluster({ primaries: 1 })
  client = new Cluster([...cluster.primaries])
})
afterAll(async () => {
  client?.disconnect()
  await cluster?.stop()
})

it.each<Subject>([
  ...['a{b}c', '{}', '}{', 'user{1}', '{user}1', '{{}}', 'a{}b{c}', '{', '}', '%7B', 'a%7Bb%7Dc', 'plain'],
  { kind: '{ip}', name: '{::1}' },
])('takes the slot of %j from the whole key: no user chooses where it lies', async (subject) => {
  const key = await keyOf(subject)
  expect(await slotOf(key)).toBe(wholeSlot(key))
})

it('takes the slot from the whole key when the limiter is named in braces', async () => {
  const key = await keyOf('one', '{limiter}')
  expect(await slotOf(key)).toBe(wholeSlot(key))
})

it('spreads subjects that all have the same words in braces', async () => {
  const slots = new Set<number>()
  for (let index = 0; index < 100; index++) slots.add(await slotOf(await keyOf(`{tenant}:${index}`)))
  expect(slots.size).toBeGreaterThan(90)
})

it('puts all keys into the slot of a tag in the prefix', async () => {
  for (const subject of ['a{b}c', '{}', '}{', 'user{1}']) {
    expect(await slotOf(await keyOf(subject, 'slots', '{tag}:'))).toBe(wholeSlot('tag'))
  }
})

it('never gives two subjects one key', async () => {
  const word = fc.string({
    unit: fc.constantFrom('{', '}', '%', '~', '#', ':', '7', 'B', 'a', '\u0000', 'é', '\ud800'),
  })
  const subjects = fc.oneof(word, fc.record({ kind: word.filter((kind) => kind !== ''), name: word }))
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(subjects, { selector: (s) => JSON.stringify(s), minLength: 2, maxLength: 40 }),
      async (different) => {
        await ask(node(), 'FLUSHALL')
        const limiter = createLimiter({
          name: 'keys',
          rule: fixedWindow({ limit: 9, windowMs: 86_400_000 }),
          store: redisStore(client),
        })
        const decisions = await Promise.all(different.map((subject) => limiter.consume(subject)))
        expect(decisions.map(({ remaining }) => remaining)).toEqual(different.map(() => 8))
        expect(await ask(node(), 'DBSIZE')).toBe(different.length)
      },
    ),
  )
})

function node(): ClusterNode {
  return cluster.primaries[0] as ClusterNode
}

/** The name under which the server keeps a subject. */
async function keyOf(subject: Subject, name = 'slots', prefix = 'sluice:'): Promise<string> {
  await ask(node(), 'FLUSHALL')
  const rule = fixedWindow({ limit: 9, windowMs: 86_400_000 })
  await createLimiter({ name, rule, store: redisStore(client, { prefix }) }).consume(subject)
  const keys = (await ask(node(), 'KEYS', '*')) as string[]
  expect(keys).toHaveLength(1)
  return keys[0] as string
}

/** Where the server looks for a key. */
async function slotOf(key: string): Promise<number> {
  return Number(await ask(node(), 'CLUSTER', 'KEYSLOT', key))
}

/** Where a key lies when no part of it is taken for a hash tag: CRC-16/XMODEM of all of it. */
function wholeSlot(key: string): number {
  let crc = 0
  for (const byte of Buffer.from(key)) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff
  }
  return crc % 16_384
}
