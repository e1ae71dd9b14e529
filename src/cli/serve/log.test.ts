import { expect, it } from 'vitest'
import { recordingTerminal } from '../../../test/recording-terminal.ts'
import { createServeLog } from './log.ts'

const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g

it('tells people what happens in sentences, on the side of errors', () => {
  const terminal = recordingTerminal()
  const log = createServeLog(terminal, false)
  log.storeChanged({ state: 'degraded', error: new Error('no answer within 500 ms') })
  log.storeChanged({ state: 'healthy', afterMs: 1_200 })
  log.failed('whatever')
  log.closing()
  log.closed()
  expect(terminal.text()).toBe('')
  expect(
    terminal.errors().replaceAll(TIME, 'TIME'),
  ).toBe(`TIME the store failed, onStoreFailure decides until it answers: no answer within 500 ms
TIME the store answers again, after 1200 ms
TIME a request failed: whatever
TIME stopping: open requests are answered
TIME stopped
`)
})

it('tells programs in lines of JSON', () => {
  const terminal = recordingTerminal()
  const log = createServeLog(terminal, true)
  log.storeChanged({ state: 'degraded', error: new Error('gone') })
  log.storeChanged({ state: 'healthy', afterMs: 7 })
  log.failed(new Error('odd'))
  const lines = terminal
    .text()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines).toEqual([
    { at: expect.stringMatching(TIME), event: 'degraded', error: 'gone' },
    { at: expect.stringMatching(TIME), event: 'recovered', afterMs: 7 },
    { at: expect.stringMatching(TIME), event: 'failed', error: 'odd' },
  ])
  expect(terminal.errors()).toBe('')
})
