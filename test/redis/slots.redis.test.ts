import { Cluster } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Subject } from '../../src/core/key.ts'
import { createLimiter } from '../../src/limiter/create-limiter.ts'
import { fixedWindow } from '../../src/rules/index.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { patient } from '../patient.ts'
import { ask } from '../servers/ask.ts'
import { type ClusterNode, type RunningCluster, startCluster } from '../servers/start-cluster.ts'

// Its windows start with a key's first request, so no key goes at midnight.
const rule = fixedWindow({ limit: 9, window: 86_400_000, anchor: 'first-hit' })

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
  expect(await computeSlot(key)).toBe(wholeSlot(key))
})

it('takes the slot from the whole key when the limiter is named in braces', async () => {
  const key = await keyOf('one', '{limiter}')
  expect(await computeSlot(key)).toBe(wholeSlot(key))
})

it('spreads subjects that all have the same words in braces', async () => {
  const slots = new Set<number>()
  for (let index = 0; index < 100; index++) slots.add(await computeSlot(await keyOf(`{tenant}:${index}`)))
  expect(slots.size).toBeGreaterThan(90)
})

it('puts all keys into the slot of a tag in the prefix', async () => {
  for (const subject of ['a{b}c', '{}', '}{', 'user{1}']) {
    expect(await computeSlot(await keyOf(subject, 'slots', '{tag}:'))).toBe(wholeSlot('tag'))
  }
})

it('gives every subject a key of its own, also those that look like the key of another', async () => {
  await ask(node(), 'FLUSHALL')
  const subjects = lookAlikes()
  const limiter = createLimiter({ name: 'keys', rule, ...patient, store: redisStore(client) })
  const decisions = await Promise.all(subjects.map((subject) => limiter.consume(subject)))
  expect(subjects.filter((_, index) => decisions[index]?.remaining !== 8)).toEqual([])
  expect(await ask(node(), 'DBSIZE')).toBe(subjects.length)
})

/** Subjects of one and two of the texts that have a meaning in keys, or are what such a text becomes. */
function lookAlikes(): Subject[] {
  const texts = ['a', ':', ' ', '%', '{', '}', '~', '#', '%20', '%25', '%7B', '%7D', '%7E', '%23', '%257B']
  texts.push('\ud800', '\udc00', '\ufffd', '%uD800', 'é', 'e\u0301')
  const names = new Set(texts.flatMap((first) => ['', ...texts].map((second) => first + second)))
  return [...names, ...texts.flatMap((kind) => texts.map((name) => ({ kind, name })))]
}

function node(): ClusterNode {
  return cluster.primaries[0] as ClusterNode
}

/** The name under which the server keeps a subject. */
async function keyOf(subject: Subject, name = 'slots', prefix = 'sluice:'): Promise<string> {
  await ask(node(), 'FLUSHALL')
  await createLimiter({ name, rule, ...patient, store: redisStore(client, { prefix }) }).consume(subject)
  const keys = (await ask(node(), 'KEYS', '*')) as string[]
  expect(keys).toHaveLength(1)
  return keys[0] as string
}

/** Where the server looks for a key. */
async function computeSlot(key: string): Promise<number> {
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
