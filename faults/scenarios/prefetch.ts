import { ask } from '../../test/servers/ask.ts'
import { startSentinel } from '../../test/servers/start-sentinel.ts'
import { waitUntil } from '../../test/servers/wait-until.ts'
import type { Tally } from '../load.ts'
import { type Member, PrefetchCrew } from '../prefetch/prefetch-crew.ts'
import { CALM_MS, exactly, FULL_MS, patientMs } from '../prefetch/verdict.ts'
import type { Scenario } from '../scenario.ts'
import { whyNoPrimary } from './failovers.ts'

/** A process is killed while it holds grants, and another one takes its place. */
export const prefetchKilled: Scenario = {
  name: 'prefetch-killed',
  title: 'prefetch: a process with grants is killed (`kill -9`)',
  clients: ['ioredis'],
  tested: ['ioredis'],
  async run(stage) {
    const server = await stage.server()
    const crew = await PrefetchCrew.start(stage, 3, { servers: [server], deadlineMs: patientMs(stage) })
    for (let round = 0; round < (stage.isLong ? 4 : 2); round++) {
      await crew.until(CALM_MS)
      await crew.kill()
      await crew.add()
    }
    await stage.pass(3_000, 2_000)
    return exactly(stage, crew, {})
  },
}

/** A process is stopped for longer than its grants live, and asks for what it has missed as soon as it goes on. */
export const prefetchStopped: Scenario = {
  name: 'prefetch-stopped',
  title: 'prefetch: a process with grants is stopped (SIGSTOP) for longer than these live',
  clients: ['ioredis'],
  tested: ['ioredis'],
  async run(stage) {
    const server = await stage.server()
    const crew = await PrefetchCrew.start(stage, 3, { servers: [server], deadlineMs: patientMs(stage) })
    const stopMs = 700
    for (let round = 0; round < (stage.isLong ? 8 : 3); round++) {
      await crew.until(CALM_MS)
      const member = crew.members[round % crew.members.length] as Member
      await crew.holding(member)
      member.load.pause()
      await stage.pass(stopMs, stopMs)
      member.load.goOn()
    }
    await stage.pass(2_000, 1_000)
    // For as long as it stands still a process cannot answer.
    return exactly(stage, crew, { slackMs: SLACK_MS + stopMs })
  },
}

/** Requests and replies take longer, and differently long: grants arrive late, and some when they are over. */
export const prefetchDelayed: Scenario = {
  name: 'prefetch-delayed',
  title: 'prefetch: replies delayed by up to 160 ms',
  clients: ['ioredis'],
  tested: ['ioredis'],
  async run(stage) {
    const server = await stage.server()
    const proxy = await stage.proxy(server.port)
    const crew = await PrefetchCrew.start(stage, 3, { servers: [proxy], deadlineMs: patientMs(stage) })
    for (const delayMs of [20, 80, 5, 50, 0, 60, 30, 0]) {
      proxy.delay(delayMs)
      await stage.pass(1_700, 700)
    }
    return exactly(stage, crew, {})
  },
}

/** The server forgets everything while grants are out: each time the limit may pass once more. */
export const prefetchFlushed: Scenario = {
  name: 'prefetch-flushall',
  title: 'prefetch: FLUSHALL while grants are out',
  clients: ['ioredis'],
  tested: ['ioredis'],
  async run(stage) {
    const server = await stage.server()
    const crew = await PrefetchCrew.start(stage, 3, { servers: [server], deadlineMs: patientMs(stage) })
    const times = stage.isLong ? 3 : 1
    for (let count = 0; count < times; count++) {
      await crew.until(FULL_MS)
      await ask(server, 'FLUSHALL')
    }
    await stage.pass(3_000, 1_500)
    return exactly(stage, crew, {}, times)
  },
}

/** The server is killed while two processes hold grants, and one without data starts on its port. */
export const prefetchOutage: Scenario = {
  name: 'prefetch-outage',
  title: 'prefetch: killed while grants are out, restarted without data',
  clients: ['ioredis'],
  tested: ['ioredis'],
  async run(stage) {
    const server = await stage.server()
    const crew = await stage.crew(2, { servers: [server], limit: HOT_LIMIT, options: { prefetch: true } })
    await crew.backOnRedis()
    await stage.counted()
    await server.stop()
    await stage.pass(6_000, 1_500)
    await stage.restart(server)
    const recoveredMs = await crew.backOnRedis()
    await stage.pass(3_000, 1_200)
    // A process may still hold a grant when another one has begun with its share: the bound of the switch holds after it too.
    const { afterwards: _, ...limits } = stage.bounds({ limit: HOT_LIMIT, instances: 2, processes: 2, forgotten: 1 })
    const tallies = await crew.stop()
    return { tallies, limits, recoveredMs, expects: 'fallback', problems: withoutGrants(tallies) }
  },
}

/** The primary is killed while a process holds grants, of which the replica may not have heard. */
export const prefetchFailover: Scenario = {
  name: 'prefetch-failover',
  title: 'prefetch: Sentinel, primary killed while grants are out',
  clients: ['ioredis'],
  tested: ['ioredis'],
  async run(stage) {
    const { sentinels, primary, replicas, stop } = await startSentinel()
    stage.endLater(stop)
    const job = { servers: sentinels, topology: 'sentinel', limit: HOT_LIMIT, options: { prefetch: true } } as const
    const crew = await stage.crew(1, job)
    await crew.backOnRedis()
    await stage.pass(3_000, 800)
    await primary.stop()
    await waitUntil(() => whyNoPrimary(replicas))
    const recoveredMs = await crew.backOnRedis()
    await stage.pass(3_000, 1_200)
    const sharing = { instances: 1, processes: 1, forgotten: 1, underWay: 64 }
    const { afterwards: _, ...limits } = stage.bounds({ limit: HOT_LIMIT, ...sharing })
    const tallies = await crew.stop()
    return { tallies, limits, recoveredMs, expects: 'fallback', problems: withoutGrants(tallies) }
  },
}

/** A fault that finds no grant proves nothing of grants. */
function withoutGrants(tallies: readonly Tally[]): string[] {
  const local = tallies.reduce((sum, { by }) => sum + (by.prefetch ?? 0), 0)
  return local > 100 ? [] : [`only ${local} decisions were made from grants`]
}

/** A limit that the load reaches, and large enough for grants. */
const HOT_LIMIT = 600
const SLACK_MS = 250
