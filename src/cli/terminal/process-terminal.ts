import { createInterface } from 'node:readline/promises'
import type { ReadStream, WriteStream } from 'node:tty'
import type { Keyboard, Terminal } from './terminal.ts'

/** What the terminal needs of a process. */
export interface ProcessLike {
  readonly stdin: ReadStream
  readonly stdout: WriteStream
  readonly stderr: WriteStream
  readonly env: Readonly<Record<string, string | undefined>>
  on(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown
  exit(code: number): unknown
}

/**
 * The terminal of a process. Ctrl-C and SIGTERM ask a command to end, and a second one ends the process; a reader that has gone
 * (`| head`) asks it to end too, quietly.
 */
export function createProcessTerminal(process: ProcessLike): Terminal {
  const { stdin, stdout, stderr, env } = process
  const ending = new AbortController()
  const end = (code: number) => () => {
    if (ending.signal.aborted) process.exit(code)
    ending.abort()
  }
  process.on('SIGINT', end(INTERRUPTED))
  process.on('SIGTERM', end(TERMINATED))
  const gone = (error: NodeJS.ErrnoException): void => {
    if (error.code !== 'EPIPE') throw error
    ending.abort()
  }
  stdout.on('error', gone)
  stderr.on('error', gone)
  const isInteractive = stdout.isTTY === true && env.TERM !== 'dumb'
  return {
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    isInteractive,
    hasColour: wantsColour(env, isInteractive),
    get columns() {
      return stdout.columns ?? PIPE_COLUMNS
    },
    get rows() {
      return stdout.rows
    },
    env,
    signal: ending.signal,
    keyboard: stdin.isTTY === true && isInteractive ? openKeyboard(process) : undefined,
  }
}

// As shells report a process that a signal has ended.
const INTERRUPTED = 130
const TERMINATED = 143

const PIPE_COLUMNS = 100

function wantsColour({ NO_COLOR = '', FORCE_COLOR }: ProcessLike['env'], isInteractive: boolean): boolean {
  if (NO_COLOR !== '') return false
  if (FORCE_COLOR !== undefined) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false'
  return isInteractive
}

function openKeyboard({ stdin, stdout }: ProcessLike): Keyboard {
  return {
    async ask(question) {
      const lines = createInterface({ input: stdin, output: stdout })
      const closed = new Promise<string>((resolve) => lines.once('close', () => resolve('')))
      try {
        return await Promise.race([lines.question(question), closed])
      } finally {
        lines.close()
      }
    },
    onKey(listener) {
      const heard = (bytes: Buffer): void => listener(bytes.toString())
      stdin.setRawMode(true)
      stdin.on('data', heard)
      stdin.resume()
      return () => {
        stdin.off('data', heard)
        stdin.setRawMode(false)
        stdin.pause()
      }
    },
  }
}
