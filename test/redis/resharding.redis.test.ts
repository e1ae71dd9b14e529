import { randomUUID } from 'node:crypto'
import { Cluster } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createLimiter } from '../../src/limiter/create-limiter.ts'
import type { Limiter } from '../../src/limiter/limiter.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { patient } from '../patient.ts'
import { ask } from '../servers/ask.ts'
import { KEYS_PER_BATCH, type MoveStep, moveSlot } from '../servers/move-slot.ts'
import { type ClusterNode, type RunningCluster, startCluster } from '../servers/start-cluster.ts'
import { waitUntil } from '../servers/wait-until.ts'
import { everyRule, ruleOf } from './every-rule.ts'

const LIMIT = 800
const SUBJECTS = ['one', 'two', 'three', 'four']
const IN_FLIGHT = 100

let cluster: RunningCluster
let client: Cluster

beforeAll(async () => {
  // A node that is late on a busy machine must not count as gone.
  cluster = await startCluster({ args: ['--cluster-node-timeout', '20000'] })
  client = new Cluster([...cluster.primaries])
})
afterAll(async () => {
  client?.disconnect()
  await cluster?.stop()
})

it('admits exactly the limit of every rule while its keys move to another primary and back, twice', async () => {
  const tag = randomUUID()
  const slot = Number(await ask(primary(0), 'CLUSTER', 'KEYSLOT', tag))
  const home = await ownerOf(slot)
  const away = (home + 1) % 3
  const traffic = startTraffic(limitersOf(tag))
  const steps: MoveStep[] = []
  const onStep = async (step: MoveStep) => {
    steps.push(step)
    // A new owner that has lost its scripts must get them with the requests that are sent on to it.
    if (step === 'marked') for (const node of cluster.primaries) await ask(node, 'SCRIPT', 'FLUSH')
    await traffic.further(3 * IN_FLIGHT)
  }

  await traffic.further(traffic.admitted.length)
  const thereAndBack = async () => {
    await moveSlot(cluster, slot, home, away, onStep)
    expect([await keysAt(home, slot), await keysAt(away, slot)]).toEqual([0, traffic.admitted.length])
    await moveSlot(cluster, slot, away, home, onStep)
    expect([await keysAt(home, slot), await keysAt(away, slot)]).toEqual([traffic.admitted.length, 0])
  }
  await thereAndBack()
  expect(Math.max(...traffic.admitted), 'the limit is large enough to last').toBeLessThan(LIMIT)
  await thereAndBack()
  const batches = Math.ceil(traffic.admitted.length / KEYS_PER_BATCH)
  const oneMove = ['marked', ...Array(batches).fill('batch'), 'owned']
  expect(steps).toEqual([...oneMove, ...oneMove, ...oneMove, ...oneMove])

  await traffic.finish()
  expect(traffic.admitted).toEqual(traffic.admitted.map(() => LIMIT))
  expect(await redirections('ASK')).toBeGreaterThan(0)
  expect(await redirections('MOVED')).toBeGreaterThan(0)
})

/** A limiter of each rule, all keys in the slot of `tag`. */
function limitersOf(tag: string): Limiter[] {
  const store = redisStore(client, { prefix: `{${tag}}:` })
  return everyRule.map((named) => {
    const { title: name, aroundMs } = named
    const clock = aroundMs === undefined ? {} : { clock: { nowMs: () => aroundMs } }
    return createLimiter({ name, rule: ruleOf(named, named.options(LIMIT)), store, ...patient, ...clock })
  })
}

/** Requests on every subject in turn, many at once. */
interface Traffic {
  /** How many were admitted, by limiter and subject. */
  readonly admitted: readonly number[]
  /** Resolves when this many more were decided. Rejects when one of them failed. */
  further(count: number): Promise<void>
  /** Goes on until nothing passes any more. */
  finish(): Promise<void>
}

function startTraffic(limiters: readonly Limiter[]): Traffic {
  const keys = limiters.flatMap((limiter) => SUBJECTS.map((subject) => ({ limiter, subject })))
  const admitted = keys.map(() => 0)
  let [started, decided, refusedInTurn, isFinishing] = [0, 0, 0, false]
  const keepRequesting = async () => {
    while (!isFinishing || refusedInTurn < 2 * IN_FLIGHT) {
      const index = started++ % keys.length
      const { limiter, subject } = keys[index] as (typeof keys)[number]
      const { allowed } = await limiter.consume(subject)
      decided += 1
      refusedInTurn = allowed ? 0 : refusedInTurn + 1
      if (allowed) admitted[index] = (admitted[index] as number) + 1
    }
  }
  const done = Promise.all(Array.from({ length: IN_FLIGHT }, keepRequesting))
  const further = async (count: number) => {
    const wanted = decided + count
    await Promise.race([
      done,
      waitUntil(async () => (decided < wanted ? `${decided} of ${wanted} decided` : undefined)),
    ])
  }
  const finish = async () => {
    isFinishing = true
    await done
  }
  return { admitted, further, finish }
}

function primary(index: number): ClusterNode {
  return cluster.primaries[index] as ClusterNode
}

async function ownerOf(slot: number): Promise<number> {
  const ranges = (await ask(primary(0), 'CLUSTER', 'SLOTS')) as [number, number, [string, number, string]][]
  const owner = ranges.find(([first, last]) => first <= slot && slot <= last)?.[2][2]
  return cluster.primaries.findIndex(({ id }) => id === owner)
}

async function keysAt(index: number, slot: number): Promise<number> {
  return Number(await ask(primary(index), 'CLUSTER', 'COUNTKEYSINSLOT', slot))
}

/** How often the primaries have sent a client elsewhere. */
async function redirections(code: 'ASK' | 'MOVED'): Promise<number> {
  const infos = await Promise.all(cluster.primaries.map((node) => ask(node, 'INFO', 'errorstats')))
  const counts = infos.map((info) => Number(new RegExp(`errorstat_${code}:count=(\\d+)`).exec(`${info}`)?.[1] ?? 0))
  return counts.reduce((sum, count) => sum + count, 0)
}
