import { expect, it } from 'vitest'
import type { LiveReport } from '../../src/observe/live-report.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import type { Connection } from './connection.ts'
import { startPolling } from './polling.ts'
import { exampleReport } from './report.examples.ts'
import type { ServiceReply } from './service-client.ts'

const REPORT = exampleReport({})
const TOLD: ServiceReply<LiveReport> = { kind: 'told', value: REPORT }
const FAILED: ServiceReply<LiveReport> = { kind: 'failed', why: 'the service does not answer' }

function polling(answers: ServiceReply<LiveReport>[]) {
  const clock = manualClock()
  const told: (readonly [number, Connection['phase']])[] = []
  const connections: Connection[] = []
  const stop = startPolling({
    ask: async () => answers.shift() ?? TOLD,
    tell: (connection) => {
      told.push([clock.nowMs(), connection.phase])
      connections.push(connection)
    },
    timer: clock.timer,
  })
  return { clock, told, connections, stop }
}

it('asks every second', async () => {
  const { clock, told } = polling([])
  await clock.run(2_500)
  expect(told).toEqual([
    [0, 'live'],
    [1_000, 'live'],
    [2_000, 'live'],
  ])
})

it('asks less and less often while no answer comes, and every second again after an answer', async () => {
  const { clock, told, connections } = polling([TOLD, FAILED, FAILED, FAILED, FAILED, FAILED])
  await clock.run(18_000)
  expect(told).toEqual([
    [0, 'live'],
    [1_000, 'lost'],
    [2_000, 'lost'],
    [4_000, 'lost'],
    [8_000, 'lost'],
    [12_000, 'lost'],
    [16_000, 'live'],
    [17_000, 'live'],
    [18_000, 'live'],
  ])
  expect(connections[3]).toEqual({ phase: 'lost', report: REPORT, why: 'the service does not answer', failures: 3 })
})

it('stops asking when only a token helps, and keeps the last report', async () => {
  const { clock, told, connections } = polling([TOLD, { kind: 'locked' }])
  await clock.run(60_000)
  expect(told).toEqual([
    [0, 'live'],
    [1_000, 'locked'],
  ])
  expect(connections[1]?.report).toBe(REPORT)
})

it('is silent once it was ended, between two questions and during one', async () => {
  const between = polling([])
  await between.clock.run(500)
  between.stop()
  await between.clock.run(5_000)
  expect(between.told).toHaveLength(1)
  expect(between.clock.pendingTimers).toBe(0)

  const during = polling([])
  during.stop()
  await during.clock.run(5_000)
  expect(during.told).toEqual([])
})
