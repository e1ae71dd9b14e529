import { Redis } from 'ioredis'
import { afterAll, beforeAll, onTestFinished, vi } from 'vitest'
import { nextTurn, systemClock } from '../../src/core/clock.ts'
import type { ServerClock } from './server-clock.ts'
import { type RunningServer, startServer } from './start-server.ts'

/** A server and this process on one time, which stands until a test moves it. */
export interface StoppedTime {
  readonly redis: Redis
  readonly nowMs: number
  /** Lets this process go by it until the test is over: the machine's clock, and the time since the process started. */
  stop(): void
  /** Sets the server's clock and the machine's, without any time passing. */
  set(nowMs: number): void
  /** Lets time pass, for the server and for this process, after all that is under way. */
  advance(ms: number): Promise<void>
}

/** Starts a server by this clock for the tests of a block. Timers of this process ring when time was moved on. */
export function useStoppedTime(clock: ServerClock): StoppedTime {
  let server: RunningServer
  let redis: Redis
  let nowMs = 0
  let passedMs = 0
  beforeAll(async () => {
    server = await startServer({ server: clock.binary })
    redis = new Redis(server.port, server.host)
  })
  afterAll(async () => {
    await redis.quit()
    await server.stop()
    await clock.stop()
  })
  const set = (timeMs: number): void => {
    nowMs = timeMs
    clock.stopAt(timeMs)
  }
  return {
    get redis() {
      return redis
    },
    get nowMs() {
      return nowMs
    },
    stop() {
      passedMs = Math.ceil(performance.now())
      const machine = vi.spyOn(systemClock, 'nowMs').mockImplementation(() => nowMs)
      const sinceStart = vi.spyOn(performance, 'now').mockImplementation(() => passedMs)
      onTestFinished(() => {
        machine.mockRestore()
        sinceStart.mockRestore()
      })
    },
    set,
    async advance(ms) {
      await answers(redis)
      set(nowMs + ms)
      passedMs += ms
    },
  }
}

// An instance says that it is there in up to two questions, for which no decision waits.
async function answers(redis: Redis): Promise<void> {
  for (let question = 0; question < 3; question++) {
    await new Promise<void>((resolve) => nextTurn(resolve))
    await redis.ping()
  }
}
