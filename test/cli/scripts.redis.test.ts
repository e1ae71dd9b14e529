import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { Cluster } from 'ioredis'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { run } from '../../src/cli/program.ts'
import { findPrimaries } from '../../src/cli/redis/primaries.ts'
import { connectRedis } from '../../src/cli/redis/redis-url.ts'
import { getScript, listScripts } from '../../src/stores/redis/script-catalog.ts'
import { recordingTerminal } from '../recording-terminal.ts'
import { ruleNames } from '../rule-registry.ts'
import { type Address, ask } from '../servers/ask.ts'
import { type SharedServers, useCluster, useServer } from '../servers/shared-servers.ts'
import { startCluster } from '../servers/start-cluster.ts'
import { type RunningServer, startServer } from '../servers/start-server.ts'
import { waitUntil } from '../servers/wait-until.ts'

let server: Address
let cluster: SharedServers['cluster']
let url: string
let clusterUrl: string
beforeAll(async () => {
  ;[server, cluster] = await Promise.all([useServer(), useCluster()])
  url = `redis://127.0.0.1:${server.port}`
  clusterUrl = `redis-cluster://127.0.0.1:${cluster.nodes[0]?.port}`
})

async function said(...args: string[]) {
  const terminal = recordingTerminal()
  const code = await run(['scripts', ...args], terminal)
  return { code, out: terminal.text(), err: terminal.errors() }
}

const count = new Set(listScripts().map(({ name }) => name)).size

describe('scripts list', () => {
  it('has a line for every version of every script', async () => {
    const { code, out } = await said('list')
    expect(code).toBe(0)
    const lines = out.trimEnd().split('\n')
    expect(lines).toHaveLength(listScripts().length + 1)
    expect(out).toMatch(/^token-bucket@1 +[\da-f]{40} +\d+ {2}a bucket that refills at a constant rate\.$/m)
  })

  it('is the same as JSON', async () => {
    const { scripts } = JSON.parse((await said('list', '--json')).out)
    const { name, version, sha1, parameters, source } = getScript('sliding-window')
    const found = scripts.find((script: { name: string }) => script.name === name)
    const purpose =
      'counts the current window in full and the one before by the share that still overlaps, rounded down.'
    expect(found).toEqual({ name, version, sha1, parameters, bytes: Buffer.byteLength(source), purpose })
  })
})

describe('scripts print', () => {
  it('says which scripts there are', async () => {
    expect((await said('print', 'token-buckt')).err).toBe(
      'sluice: unknown script "token-buckt", did you mean "token-bucket"?\n',
    )
    const { code, err } = await said('print', 'x')
    expect([code, err]).toEqual([2, expect.stringMatching(`^sluice: unknown script "x": there are ${ruleNames[0]}, `)])
    expect((await said('print', 'gcra@99')).err).toMatch(/^sluice: unknown script "gcra"/)
    expect(await said('print', 'token-bucket@99')).toMatchObject({
      code: 2,
      err: expect.stringContaining('version 99'),
    })
  })
})

describe('scripts load and check', () => {
  it('a server lacks them, gets them and has them', async () => {
    await ask(server, 'SCRIPT', 'FLUSH')
    const before = await said('check', '--redis', url)
    expect(before.code).toBe(1)
    const [head = '', missing = ''] = before.out.split('\n')
    expect(head).toMatch(/^127\.0\.0\.1:\d+: (?:Redis|Valkey) [\d.]+, primary$/)
    const named = [...ruleNames, 'sluice', 'tiers'].map((name) => `${name}@${getScript(name).version}`)
    expect(before.out).toBe(`${head}\n${missing}\n`)
    expect(missing).toBe(`  missing  ${named.join(', ')}`)
    expect(before.err).toBe('sluice: 1 of 1 servers are not ready. sluice scripts load loads missing scripts\n')
    const loaded = await said('load', '--redis', url)
    expect([loaded.code, loaded.err]).toEqual([0, ''])
    expect(await ask(server, 'SCRIPT', 'EXISTS', ...listScripts().map(({ sha1 }) => sha1))).toEqual(
      listScripts().map(() => 1),
    )
    const after = await said('check', '--redis', url)
    expect([after.code, after.err]).toEqual([0, ''])
    expect(after.out).toContain(`\n  ok       ${count} of ${count} scripts are loaded\n`)
  })

  it('colours are for terminals that have them, and left out with --no-color', async () => {
    const play = async (...args: string[]) => {
      const terminal = recordingTerminal({ hasColour: true })
      await run(['scripts', 'check', '--redis', url, ...args], terminal)
      return terminal.text()
    }
    const [coloured, plain] = [await play(), await play('--no-color')]
    expect(coloured).toContain('\u001b[1m127.0.0.1')
    expect(plain).not.toContain('\u001b')
    expect(plain).toContain('127.0.0.1')
  })

  it('some of them will do', async () => {
    await ask(server, 'SCRIPT', 'FLUSH')
    const { out } = await said('load', 'gcra', '--redis', url)
    expect(out).toBe('')
    expect(JSON.parse((await said('load', 'token-bucket', '--redis', url, '--json')).out)).toEqual({
      nodes: [`127.0.0.1:${server.port}`],
      loaded: [{ script: 'token-bucket@1', sha1: getScript('token-bucket').sha1 }],
    })
    expect((await said('check', 'token-bucket', '--redis', url)).code).toBe(0)
    const { code, out: json } = await said('check', 'token-bucket', 'fixed-window', '--redis', url, '--json')
    expect(code).toBe(1)
    expect(JSON.parse(json)).toMatchObject({
      wanted: ['token-bucket@1', 'fixed-window@1'],
      nodes: [{ place: `127.0.0.1:${server.port}`, missing: ['fixed-window@1'], problems: [], warnings: [] }],
    })
  })

  it('every primary of a Cluster has them', async () => {
    expect((await said('check', '--redis', clusterUrl)).err).toBe(
      'sluice: 3 of 3 servers are not ready. sluice scripts load loads missing scripts\n',
    )
    const { code, out } = await said('load', '--redis', clusterUrl)
    expect(code).toBe(0)
    for (const node of cluster.primaries) {
      expect(out).toContain(`127.0.0.1:${node.port}: `)
      expect(await ask(node, 'SCRIPT', 'EXISTS', getScript('tiers').sha1)).toEqual([1])
    }
    await ask(cluster.primaries[1] as RunningServer, 'SCRIPT', 'FLUSH')
    const checked = await said('check', '--redis', clusterUrl)
    expect([checked.code, checked.err]).toEqual([
      1,
      'sluice: 1 of 3 servers are not ready. sluice scripts load loads missing scripts\n',
    ])
  })

  it('the environment names the server too, and a missing one is an error', async () => {
    const terminal = recordingTerminal({ env: { SLUICE_REDIS_URL: url } })
    expect(await run(['scripts', 'load'], terminal)).toBe(0)
    expect(await said('load')).toEqual({
      code: 2,
      out: '',
      err: 'sluice: --redis is missing, such as --redis redis://127.0.0.1:6379\n',
    })
  })
})

describe('scripts check warns', () => {
  it('of a server that forgets counts when its memory is full', async () => {
    const small = await startServer({ args: ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'] })
    onTestFinished(() => small.stop())
    const at = `redis://127.0.0.1:${small.port}`
    await said('load', '--redis', at)
    const { code, out } = await said('check', '--redis', at)
    expect(code).toBe(0)
    expect(out).toContain(
      '\n  warning  maxmemory-policy is allkeys-lru, so a full memory forgets counts: noeviction or volatile-ttl keep them\n',
    )
    await ask(small, 'CONFIG', 'SET', 'maxmemory-policy', 'volatile-ttl')
    expect((await said('check', '--redis', at)).out).not.toContain('warning')
  })

  it('of a replica', async () => {
    const replica = await startServer({ args: ['--replicaof', '127.0.0.1', `${server.port}`] })
    onTestFinished(() => replica.stop())
    const { code, out } = await said('check', '--redis', `redis://127.0.0.1:${replica.port}`)
    expect(code).toBe(1)
    expect(out).toContain('\n  problem  it is a replica, and takes no writes\n')
  })

  it('of a user who may not do what is needed, and of what it cannot see', async () => {
    const strict = await startServer()
    onTestFinished(() => strict.stop())
    const rights = ['on', '>secret', '~sluice:*', '+evalsha', '+script|exists', '+ping', '+info']
    await ask(strict, 'ACL', 'SETUSER', 'few', ...rights, '+acl')
    const few = await said('check', '--redis', `redis://few:secret@127.0.0.1:${strict.port}`)
    expect(few.code).toBe(1)
    for (const command of ['EVAL', 'SCRIPT LOAD', 'GET', 'MGET', 'EXISTS', 'SET', 'DEL', 'TIME']) {
      expect(few.out).toContain(`  problem  the user may not send ${command}, see docs/redis.md\n`)
    }
    await ask(strict, 'ACL', 'SETUSER', 'none', ...rights, '-info')
    const none = await said('check', '--redis', `redis://none:secret@127.0.0.1:${strict.port}`)
    expect(none.out).toContain('  warning  the user may not send INFO\n')
    expect(none.out).toContain('  warning  the rights of the user are unknown')
    await ask(strict, 'ACL', 'SETUSER', 'blind', 'on', '>secret', '+ping', '+info')
    const blind = await said('check', '--redis', `redis://blind:secret@127.0.0.1:${strict.port}`)
    expect(blind).toMatchObject({ code: 1, err: expect.stringContaining('did not say which scripts it has') })
    const unable = await said('load', '--redis', `redis://blind:secret@127.0.0.1:${strict.port}`)
    expect(unable).toMatchObject({ code: 1, err: expect.stringContaining(`did not load ${ruleNames[0]}@1`) })
  })
})

describe('scripts load does not believe everything', () => {
  it('a server that calls a text by another name has not got that text', async () => {
    const sha1 = '0'.repeat(40)
    const replies: Record<string, string> = {
      INFO: '$20\r\nredis_version:7.0.15\r\n',
      PING: '+PONG\r\n',
      SCRIPT: `$40\r\n${sha1}\r\n`,
    }
    const other = createServer((socket) => {
      socket.on('error', () => {})
      socket.on('data', (bytes) => {
        for (const [, name] of bytes.toString().matchAll(/^\*\d+\r\n\$\d+\r\n(\w+)/gim)) {
          socket.write(replies[(name as string).toUpperCase()] ?? '+OK\r\n')
        }
      })
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void other.close())
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    expect(await said('load', 'token-bucket', '--redis', `redis://127.0.0.1:${port}`)).toEqual({
      code: 1,
      out: '',
      err: `sluice: 127.0.0.1:${port} calls token-bucket@1 ${sha1}, and its text has ${getScript('token-bucket').sha1}\n`,
    })
  })

  it('a Cluster that has lost a primary is not complete', async () => {
    const broken = await startCluster()
    onTestFinished(() => broken.stop())
    const redis = await connectRedis(`redis-cluster://127.0.0.1:${broken.nodes[0]?.port}`)
    onTestFinished(() => redis.close())
    // A client notices the loss of those that it has talked to.
    for (const { client } of findPrimaries(redis)) await client.ping()
    expect(findPrimaries(redis)).toHaveLength(3)
    await broken.primaries[2]?.stop()
    const cluster = redis.client as Cluster
    await waitUntil(async () => (cluster.nodes('master').length < 3 ? undefined : 'all primaries are listed'))
    expect(() => findPrimaries(redis)).toThrow(/^1 of the 3 primaries of the cluster at 127\.0\.0\.1:\d+ are away$/)
    // One that comes later finds that it does not answer, or a Cluster that has noticed and serves no request.
    for (const command of ['load', 'check']) {
      const at = `redis-cluster://127.0.0.1:${broken.nodes[0]?.port}`
      expect(await said(command, '--redis', at)).toMatchObject({
        code: 1,
        out: '',
        err: expect.stringMatching(/^sluice: .*\d (?:did not |cannot be used: )/),
      })
    }
  })
})
