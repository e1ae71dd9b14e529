import { EventEmitter } from 'node:events'
import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { createProcessTerminal, type ProcessLike } from './process-terminal.ts'

/** A process whose streams are here: a terminal, or a pipe. */
function fakeProcess(isTTY: boolean, env: Record<string, string> = {}) {
  const signals = new EventEmitter()
  const exits: number[] = []
  const rawModes: boolean[] = []
  const stdin = Object.assign(new PassThrough(), { isTTY, setRawMode: (mode: boolean) => void rawModes.push(mode) })
  const stdout = Object.assign(new PassThrough(), isTTY ? { isTTY, columns: 120, rows: 40 } : {})
  const stderr = new PassThrough()
  const like = {
    ...{ stdin, stdout, stderr, env, exit: (code: number) => void exits.push(code) },
    on: (signal: string, listener: () => void) => signals.on(signal, listener),
  }
  return { process: like as unknown as ProcessLike, signals, exits, rawModes, stdin, stdout, stderr }
}

describe('the terminal of a process', () => {
  it('writes results and everything else to their own streams', () => {
    const { process, stdout, stderr } = fakeProcess(false)
    const terminal = createProcessTerminal(process)
    terminal.out('result')
    terminal.err('problem')
    expect([stdout.read().toString(), stderr.read().toString()]).toEqual(['result', 'problem'])
  })

  it.each<[boolean, Record<string, string>, boolean, boolean]>([
    [true, {}, true, true],
    [false, {}, false, false],
    [true, { NO_COLOR: '1' }, true, false],
    [true, { NO_COLOR: '' }, true, true],
    [false, { FORCE_COLOR: '1' }, false, true],
    [true, { FORCE_COLOR: '0' }, true, false],
    [true, { FORCE_COLOR: 'false' }, true, false],
    [true, { NO_COLOR: '1', FORCE_COLOR: '1' }, true, false],
    [true, { TERM: 'dumb' }, false, false],
  ])('at a terminal %s with %j: interactive %s, in colour %s', (isTTY, env, isInteractive, hasColour) => {
    const terminal = createProcessTerminal(fakeProcess(isTTY, env).process)
    expect([terminal.isInteractive, terminal.hasColour]).toEqual([isInteractive, hasColour])
    expect(terminal.keyboard !== undefined).toBe(isInteractive)
  })

  it('is as large as it says, and a pipe is 100 wide', () => {
    const { process, stdout } = fakeProcess(true)
    const terminal = createProcessTerminal(process)
    expect([terminal.columns, terminal.rows]).toEqual([120, 40])
    Object.assign(stdout, { columns: 60 })
    expect(terminal.columns).toBe(60)
    const pipe = createProcessTerminal(fakeProcess(false).process)
    expect([pipe.columns, pipe.rows]).toEqual([100, undefined])
  })

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ])('%s asks to end, and a second one ends', (signal, code) => {
    const { process, signals, exits } = fakeProcess(false)
    const terminal = createProcessTerminal(process)
    expect(terminal.signal.aborted).toBe(false)
    signals.emit(signal)
    expect([terminal.signal.aborted, exits]).toEqual([true, []])
    signals.emit(signal)
    expect(exits).toEqual([code])
  })

  it('a reader that has gone asks to end, quietly; another failure is thrown', () => {
    const { process, stdout } = fakeProcess(false)
    const terminal = createProcessTerminal(process)
    stdout.emit('error', Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
    expect(terminal.signal.aborted).toBe(true)
    expect(() => stdout.emit('error', new Error('disk full'))).toThrow('disk full')
  })

  it('asks, and reads a line', async () => {
    const { process, stdin, stdout } = fakeProcess(true)
    const answer = createProcessTerminal(process).keyboard?.ask('Sure? ')
    stdin.write('yes\n')
    expect(await answer).toBe('yes')
    stdout.end()
    expect((await stdout.toArray()).join('')).toContain('Sure? ')
  })

  it('reads nothing after the terminal is gone', async () => {
    const { process, stdin } = fakeProcess(true)
    const answer = createProcessTerminal(process).keyboard?.ask('Sure? ')
    stdin.end()
    expect(await answer).toBe('')
  })

  it('reads keys as they are pressed, until it is stopped', async () => {
    const { process, stdin, rawModes } = fakeProcess(true)
    const keys: string[] = []
    const stop = createProcessTerminal(process).keyboard?.onKey((key) => keys.push(key))
    stdin.write('q')
    await new Promise(setImmediate)
    stop?.()
    stdin.write('x')
    await new Promise(setImmediate)
    expect([keys, rawModes]).toEqual([['q'], [true, false]])
  })
})
