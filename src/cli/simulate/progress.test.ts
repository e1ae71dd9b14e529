import { expect, it } from 'vitest'
import { recordingTerminal } from '../../../test/recording-terminal.ts'
import { manualClock } from '../../testing/manual-clock.ts'
import { Progress } from './progress.ts'

it('shows how far it is once that takes long, now and then, and takes it away at the end', () => {
  const clock = manualClock(0)
  const terminal = recordingTerminal({ isInteractive: true })
  const progress = new Progress(terminal, () => clock.nowMs())
  clock.advance(399)
  progress.show(0.1, 'soon')
  expect(terminal.errors()).toBe('')
  clock.advance(1)
  progress.show(0.5, 'half')
  const half = `\r${'█'.repeat(15)}${'░'.repeat(15)}  50 %  half\u001b[K`
  expect(terminal.errors()).toBe(half)
  clock.advance(99)
  progress.show(0.6, 'more')
  expect(terminal.errors()).toBe(half)
  progress.end()
  progress.end()
  expect(terminal.errors()).toBe(`${half}\r\u001b[K`)
  expect(terminal.text()).toBe('')
})

it('shows nothing without a terminal', () => {
  const clock = manualClock(0)
  const terminal = recordingTerminal()
  const progress = new Progress(terminal, () => clock.nowMs())
  clock.advance(10_000)
  progress.show(0.5, 'half')
  progress.end()
  expect(terminal.errors()).toBe('')
})
