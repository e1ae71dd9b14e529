import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { ask } from './ask.ts'
import { type ServerClock, serverClock } from './server-clock.ts'
import { type RunningServer, startServer } from './start-server.ts'

const found = await serverClock(inject('redisServer'))

describe.runIf(found)('a server by a clock of its own', () => {
  const clock = found as ServerClock
  let server: RunningServer
  beforeAll(async () => {
    server = await startServer({ server: clock.binary })
  })
  afterAll(async () => {
    await server.stop()
    await clock.stop()
  })

  const nowMs = async (): Promise<number> => {
    const [seconds, micros] = (await ask(server, 'TIME')) as string[]
    return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000)
  }

  it('follows it, ahead and back, while it runs', async () => {
    const aheadSeconds = async () => ((await nowMs()) - Date.now()) / 1_000
    expect(await aheadSeconds()).toBeCloseTo(0, -1)
    await clock.step(3_600)
    expect(await aheadSeconds()).toBeCloseTo(3_600, -1)
    await clock.step(-3_600)
    expect(await aheadSeconds()).toBeCloseTo(-3_600, -1)
    await clock.step(0)
    expect(await aheadSeconds()).toBeCloseTo(0, -1)
  })

  it('stands where it is stopped, to the millisecond', async () => {
    for (const timeMs of [1_700_000_000_123, 1_700_000_000_999, 1_700_000_001_000, 4_000_001, 32_503_680_000_007]) {
      clock.stopAt(timeMs)
      expect(await nowMs()).toBe(timeMs)
      expect(await nowMs()).toBe(timeMs)
    }
  })
})
