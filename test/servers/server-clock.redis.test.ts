import { expect, inject, it, onTestFinished } from 'vitest'
import { ask } from './ask.ts'
import { type ServerClock, serverClock } from './server-clock.ts'
import { startServer } from './start-server.ts'

const clock = await serverClock()

it.runIf(clock)('a server goes by the clock that it is given, ahead and back, while it runs', async () => {
  const { binary, step, stop } = clock as ServerClock
  const server = await startServer({ server: binary(inject('redisServer')) })
  onTestFinished(async () => {
    await server.stop()
    await stop()
  })
  const aheadSeconds = async () => Number(((await ask(server, 'TIME')) as string[])[0]) - Date.now() / 1_000
  expect(await aheadSeconds()).toBeCloseTo(0, -1)
  await step(3_600)
  expect(await aheadSeconds()).toBeCloseTo(3_600, -1)
  await step(-3_600)
  expect(await aheadSeconds()).toBeCloseTo(-3_600, -1)
  await step(0)
  expect(await aheadSeconds()).toBeCloseTo(0, -1)
})
