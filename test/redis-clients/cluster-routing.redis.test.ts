import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openConnection } from '../../src/stores/redis/clients/connect.ts'
import { ask } from '../servers/ask.ts'
import { moveSlot } from '../servers/move-slot.ts'
import type { SharedServers } from '../servers/shared-servers.ts'
import type { ClusterNode } from '../servers/start-cluster.ts'
import { freshCounter, freshKey } from './fresh-script.ts'
import { redirections } from './redirections.ts'
import { redisClients } from './redis-clients.ts'
import { useTopologies } from './topologies.ts'

let servers: SharedServers

beforeAll(async () => {
  servers = await useTopologies()
})

describe.each(redisClients.filter(({ topology }) => topology === 'cluster'))('$title', ({ open }) => {
  it('sends a command to the primary of its key, without being sent there by another', async () => {
    const { client, close } = await open(servers)
    onTestFinished(close)
    const connection = openConnection(client)
    const before = await redirections(servers.cluster)
    for (const key of Array.from({ length: 60 }, freshKey)) {
      expect(await connection.send(key, ['EVAL', 'return 1', '1', key])).toBe(1)
    }
    expect(await redirections(servers.cluster)).toBe(before)
  })

  it('follows a slot that moves, and counts each command once', async () => {
    const { client, close } = await open(servers)
    onTestFinished(close)
    const connection = openConnection(client)
    const { source, sha1 } = freshCounter()
    await connection.sendToAll(['SCRIPT', 'LOAD', source])
    const tag = randomUUID()
    const keys = Array.from({ length: 25 }, (_, n) => `{${tag}}:${n}`)
    let rounds = 0
    const countAll = async () => {
      rounds += 1
      for (const key of keys) {
        expect(await connection.send(key, ['EVALSHA', sha1, '1', key, '1'])).toBe(rounds)
      }
    }
    await countAll()
    const slot = Number(await ask(servers.cluster.primaries[0] as ClusterNode, 'CLUSTER', 'KEYSLOT', tag))
    const from = Math.floor((slot * 3) / 16_384)
    const to = (from + 1) % 3
    // Before, in between and after: all keys at the old owner, some at each, all at the new one.
    await moveSlot(servers.cluster, slot, from, to, countAll)
    await moveSlot(servers.cluster, slot, to, from, countAll)
    expect(rounds).toBe(1 + 2 * 5)
  })
})
