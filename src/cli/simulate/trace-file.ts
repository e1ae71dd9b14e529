import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { Arrival } from '../../simulate/simulation.ts'
import { CommandFailure, UsageError } from '../terminal/command-failure.ts'
import { detectFormat, type LogKey, readLine, type TraceFormat } from './trace-line.ts'

/** How to read a file. */
export interface TraceFileOptions {
  /** @default what the first line looks like */
  readonly format?: TraceFormat | undefined
  readonly logKey: LogKey
  /** Whether lines that cannot be read are left out; otherwise the first one ends it. */
  readonly skipsBadLines: boolean
}

/** A file of requests that is read as it is played: it may be larger than memory. */
export interface TraceFile {
  /** The requests in parts, in order of time. Rejects with a `CommandFailure` that names the line. */
  parts(): AsyncIterable<readonly Arrival[]>
  /** How much of the file has been read, 0 to 1. */
  readonly share: number
  /** How many lines were left out, and how many were taken later than they say: they came after a later one. */
  readonly skipped: number
  readonly late: number
}

/** Opens a file of requests: JSON lines, CSV or an access log, plain or with the ending `.gz`. */
export async function openTraceFile(path: string, options: TraceFileOptions): Promise<TraceFile> {
  return new LineReader(path, await readSize(path), options)
}

async function readSize(path: string): Promise<number> {
  try {
    const found = await stat(path)
    if (!found.isDirectory()) return found.size
  } catch (error) {
    throw createReadError(path, error)
  }
  throw new UsageError(`the trace ${path} is a folder`)
}

const PART = 4_096
const LONGEST_LINE = 1_000_000
// Servers write a line when the answer is out: of two requests the later one may be written first.
const MOST_LATE_MS = 60_000

class LineReader implements TraceFile {
  readonly #path: string
  readonly #size: number
  readonly #options: TraceFileOptions
  #format: TraceFormat | undefined
  #read = 0
  #line = 0
  #nowMs = 0
  skipped = 0
  late = 0

  constructor(path: string, size: number, options: TraceFileOptions) {
    this.#path = path
    this.#size = size
    this.#options = options
    this.#format = options.format
  }

  get share(): number {
    return this.#size === 0 ? 0 : Math.min(1, this.#read / this.#size)
  }

  async *parts(): AsyncIterable<readonly Arrival[]> {
    let part: Arrival[] = []
    for await (const line of this.#lines()) {
      this.#line++
      const arrival = this.#readArrival(line)
      if (arrival !== undefined) part.push(arrival)
      if (part.length < PART) continue
      yield part
      part = []
    }
    if (part.length > 0) yield part
  }

  async *#lines(): AsyncIterable<string> {
    const file = createReadStream(this.#path)
    file.on('data', (bytes) => {
      this.#read += bytes.length
    })
    // Unlike a pipe, a pipeline hands errors on to the loop that reads the text.
    const text = this.#path.endsWith('.gz') ? pipeline(file, createGunzip(), () => {}) : file
    let rest = ''
    try {
      for await (const piece of text.setEncoding('utf8')) {
        const lines = (rest + piece).split('\n')
        rest = lines.pop() as string
        yield* lines
        if (rest.length > LONGEST_LINE) throw this.#failure(`a line is longer than ${LONGEST_LINE} characters`)
      }
    } catch (error) {
      throw error instanceof CommandFailure ? error : createReadError(this.#path, error)
    }
    if (rest !== '') yield rest
  }

  #readArrival(text: string): Arrival | undefined {
    const line = text.endsWith('\r') ? text.slice(0, -1) : text
    this.#format ??= line.trim() === '' ? undefined : (detectFormat(line) ?? this.#unknownFormat())
    const read = this.#format === undefined ? undefined : readLine(line, this.#format, this.#options.logKey)
    if (read === undefined) return undefined
    const problem = 'problem' in read ? read.problem : this.#lateness(read)
    if (problem === undefined) return this.#inOrder(read as Arrival)
    if (!this.#options.skipsBadLines) throw this.#failure(`${problem} (--skip-bad-lines leaves such lines out)`)
    this.skipped++
    return undefined
  }

  #lateness({ atMs }: Arrival): string | undefined {
    const lateMs = this.#nowMs - atMs
    return lateMs > MOST_LATE_MS ? `it is ${lateMs} ms earlier than the line before it` : undefined
  }

  #inOrder(arrival: Arrival): Arrival {
    if (arrival.atMs >= this.#nowMs) {
      this.#nowMs = arrival.atMs
      return arrival
    }
    this.late++
    return { ...arrival, atMs: this.#nowMs }
  }

  #unknownFormat(): never {
    // The message names the line, which is counted already.
    throw this.#failure('this is no JSON, no CSV of atMs,key,cost and no access log: --trace-format says what it is')
  }

  #failure(reason: string): CommandFailure {
    return new UsageError(`${this.#path}:${Math.max(1, this.#line)}: ${reason}`)
  }
}

function createReadError(path: string, error: unknown): CommandFailure {
  const { code, message } = error as NodeJS.ErrnoException
  const reason = code === 'ENOENT' ? 'no such file' : message
  return new UsageError(`the trace ${path} cannot be read: ${reason}`, { cause: error })
}
