import { setTimeout as wait } from 'node:timers/promises'
import { freeClusterPort } from '../test/servers/free-port.ts'
import { type RunningServer, type StartOptions, startServer } from '../test/servers/start-server.ts'
import { startProxy, type TcpProxy } from '../test/servers/tcp-proxy.ts'
import { boundsOf, type Sharing } from './bounds.ts'
import { type Job, type Load, monotonicMs, startLoad, type Tally } from './load.ts'

/** Where a scenario plays: what it starts here is ended with it. */
export class Stage {
  readonly client: Job['client']
  /** Whether it may take its time. Otherwise it is one of the tests. */
  readonly isLong: boolean
  readonly limit = 100
  readonly windowMs: number
  readonly deadlineMs: number = 500
  /** For scenarios in which Redis is to decide throughout: other tests on the same processors must not look like a fault. */
  readonly patientMs: number
  readonly #ends: (() => unknown)[] = []

  constructor(client: Job['client'], isLong: boolean) {
    this.client = client
    this.isLong = isLong
    this.windowMs = isLong ? 2_000 : 1_000
    this.patientMs = isLong ? this.deadlineMs : 2_000
  }

  /** Ends something with the scenario; what was started last ends first. */
  endLater(end: () => unknown): void {
    this.#ends.unshift(end)
  }

  async end(): Promise<void> {
    for (const end of this.#ends) await end()
  }

  /** Waits `longMs`, or `shortMs` in the short version. */
  async pass(longMs: number, shortMs: number): Promise<void> {
    await wait(this.isLong ? longMs : shortMs)
  }

  /** Waits until processes that have just started know from Redis how many they are. */
  async counted(): Promise<void> {
    await wait(COUNTED_MS)
  }

  /** A server on a port that no other process is likely to take while it is down. */
  async server(options: StartOptions = {}): Promise<RunningServer> {
    const server = await startServer({ pickPort: freeClusterPort, ...options })
    this.endLater(() => server.stop())
    return server
  }

  /** A server on the port of one that has ended. */
  restart({ port }: RunningServer): Promise<RunningServer> {
    return this.server({ pickPort: async () => port })
  }

  async proxy(port: number): Promise<TcpProxy> {
    const proxy = await startProxy(port)
    this.endLater(() => proxy.stop())
    return proxy
  }

  /** Processes that ask for the same keys, each with its client. */
  async crew(processes: number, job: Pick<Job, 'servers'> & Partial<Job>): Promise<Crew> {
    const { client, limit, windowMs, deadlineMs } = this
    // Who asks again at once shows most of what passes: nothing is to be known beforehand.
    const options = { denialCache: false, ...job.options }
    const whole: Job = { ...DEFAULTS, client, limit, windowMs, deadlineMs, ...job, options }
    const loads = await Promise.all(Array.from({ length: processes }, () => startLoad(whole)))
    for (const load of loads) this.endLater(() => load.kill())
    return new Crew(loads)
  }

  bounds(
    sharing: Omit<Sharing, 'limit' | 'windowMs' | 'deadlineMs'> & Partial<Pick<Sharing, 'limit' | 'deadlineMs'>>,
  ): ReturnType<typeof boundsOf> {
    const { limit, windowMs, deadlineMs } = this
    return boundsOf({ limit, windowMs, deadlineMs, ...sharing })
  }
}

/** The processes of one scenario. */
export class Crew {
  readonly loads: readonly Load[]

  constructor(loads: readonly Load[]) {
    this.loads = loads
  }

  /** Waits until Redis decides in all of them, and says how long the slowest took. */
  async backOnRedis(longestMs = 20_000): Promise<number> {
    const sinceMs = monotonicMs()
    return Math.max(...(await Promise.all(this.loads.map((load) => load.backOnRedis(sinceMs, longestMs)))))
  }

  /** Ends them where nothing is left to recover from: a busy machine may have made one of them take Redis for gone just now. */
  async stop(): Promise<Tally[]> {
    await this.backOnRedis(LONGEST_CALM_MS)
    return Promise.all(this.loads.map((load) => load.stop()))
  }
}

// Each says after one, two, four and eight seconds that it is there, and hears of those that have said so before.
const COUNTED_MS = 5_000

const LONGEST_CALM_MS = 5_000

const DEFAULTS = {
  topology: 'single',
  socketTimeoutMs: undefined,
  waitsForServer: true,
  loops: 64,
  pauseMs: 15,
  keys: 200,
  freshKeys: false,
  ownTime: false,
} as const
