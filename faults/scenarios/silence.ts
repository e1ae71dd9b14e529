import type { TcpProxy } from '../../test/servers/tcp-proxy.ts'
import type { Job } from '../load.ts'
import type { Outcome, Scenario } from '../scenario.ts'
import type { Crew, Stage } from '../stage.ts'

/** The server's process is stopped and goes on later, with everything it had been sent. Two processes share the limit. */
export const stopped: Scenario = {
  name: 'stopped',
  title: 'stopped for a while (SIGSTOP)',
  clients: ['ioredis', 'node-redis'],
  tested: ['ioredis', 'node-redis'],
  async run(stage) {
    const server = await stage.server()
    const crew = await stage.crew(2, { servers: [server] })
    await crew.backOnRedis()
    await stage.counted()
    process.kill(server.pid, 'SIGSTOP')
    await stage.pass(10_000, 2_000)
    process.kill(server.pid, 'SIGCONT')
    return finish(stage, crew, 2, 2)
  },
}

/** The connection stays open, and nothing comes through: what a router does that has forgotten it. Later it breaks. */
export const halfOpen: Scenario = {
  name: 'half-open',
  title: 'connection half-open, then broken',
  clients: ['ioredis', 'node-redis'],
  tested: ['node-redis'],
  async run(stage) {
    const { proxy, crew } = await behindProxy(stage)
    await crew.backOnRedis()
    await stage.pass(3_000, 800)
    proxy.drop()
    await stage.pass(6_000, 1_800)
    proxy.cut()
    return finish(stage, crew, 1, 1)
  },
}

/** The same for good, while new connections pass: the client has to notice, and without help it does not. */
export const lostConnection: Scenario = {
  name: 'lost-connection',
  title: 'connection half-open for good, client with `socketTimeout`',
  clients: ['ioredis', 'node-redis'],
  tested: ['ioredis'],
  async run(stage) {
    // Long enough for the store to be left alone: that takes two deadlines where the last answers came right before.
    const { proxy, crew } = await behindProxy(stage, { socketTimeoutMs: 2_000 })
    await crew.backOnRedis()
    await stage.pass(3_000, 800)
    proxy.dropOpen()
    return finish(stage, crew, 1, 1)
  },
}

/** A listener takes the connection from the start and never says a word, until it does. */
export const mute: Scenario = {
  name: 'mute',
  title: 'accepts, and does not answer',
  clients: ['ioredis', 'node-redis'],
  tested: ['ioredis'],
  async run(stage) {
    const { proxy, crew } = await behindProxy(stage, {}, (proxy) => proxy.freeze())
    await stage.pass(6_000, 1_800)
    proxy.thaw()
    return finish(stage, crew, 1, 1)
  },
}

async function behindProxy(stage: Stage, job: Partial<Job> = {}, prepare: (proxy: TcpProxy) => void = () => {}) {
  const server = await stage.server()
  const proxy = await stage.proxy(server.port)
  prepare(proxy)
  return { proxy, crew: await stage.crew(1, { servers: [proxy], waitsForServer: false, ...job }) }
}

async function finish(stage: Stage, crew: Crew, instances: number, processes: number): Promise<Outcome> {
  const recoveredMs = await crew.backOnRedis()
  await stage.pass(3_000, 1_200)
  const limits = stage.bounds({ instances, processes })
  return { tallies: await crew.stop(), limits, recoveredMs, expects: 'fallback' }
}
