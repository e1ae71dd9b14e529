import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, it } from 'vitest'
import { type RecordingTerminal, recordingTerminal } from '../../../test/recording-terminal.ts'
import type { Arrival } from '../../simulate/simulation.ts'
import { run } from '../program.ts'
import { openTraceFile, type TraceFile, type TraceFileOptions } from './trace-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-trace-'))
afterAll(() => rmSync(folder, { recursive: true }))

function writeTrace(name: string, content: string | Buffer): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

async function read(path: string, options: Partial<TraceFileOptions> = {}): Promise<[Arrival[], TraceFile]> {
  const file = await openTraceFile(path, { logKey: 'address', skipsBadLines: false, ...options })
  const arrivals: Arrival[] = []
  for await (const part of file.parts()) arrivals.push(...part)
  return [arrivals, file]
}

const readArrivals = async (text: string, options?: Partial<TraceFileOptions>): Promise<Arrival[]> =>
  (await read(writeTrace('trace', text), options))[0]

const TWO = [
  { atMs: 5, key: 'a', cost: 1 },
  { atMs: 6, key: 'b', cost: 3 },
]

describe('a trace is read', () => {
  it.each([
    ['JSON lines', '{"atMs":5,"key":"a"}\n\n{"atMs":6,"key":"b","cost":3}\n'],
    ['JSON lines, the last one without an end', '{"atMs":5,"key":"a"}\r\n{"atMs":6,"key":"b","cost":3,"path":"/"}'],
    ['CSV', '5,a\n6,b,3\n'],
    ['CSV with a heading and quotes', '\natMs,key,cost\n"5","a",1\n 6 , b , 3\n'],
  ])('from %s', async (_, text) => {
    expect(await readArrivals(text)).toEqual(TWO)
  })

  it('from CSV whose keys have commas and quotes', async () => {
    expect(await readArrivals('1,"a, ""b""",2\n')).toEqual([{ atMs: 1, key: 'a, "b"', cost: 2 }])
  })

  it('from JSON lines with work', async () => {
    expect(await readArrivals('{"atMs":1,"key":"a","workMs":7}')).toEqual([{ atMs: 1, key: 'a', cost: 1, workMs: 7 }])
  })

  const LOG = `203.0.113.7 - ann [10/Oct/2025:13:55:36 +0200] "GET / HTTP/1.1" 200 2326
2001:db8::1 - - [10/Oct/2025:07:55:37 -0400] "GET /a HTTP/1.1" 200 1 "https://example.com/" "curl/8"
`
  const AT_MS = Date.UTC(2025, 9, 10, 11, 55, 36)

  it('from an access log, by address', async () => {
    expect(await readArrivals(LOG)).toEqual([
      { atMs: AT_MS, key: '203.0.113.7', cost: 1 },
      { atMs: AT_MS + 1_000, key: '2001:db8::1', cost: 1 },
    ])
  })

  it('from an access log, by user where there is one', async () => {
    expect((await readArrivals(LOG, { logKey: 'user' })).map(({ key }) => key)).toEqual(['ann', '2001:db8::1'])
  })

  it('from an empty file, which has none', async () => {
    const [arrivals, file] = await read(writeTrace('nothing', ''))
    expect([arrivals, file.share]).toEqual([[], 0])
  })

  it('from a packed file', async () => {
    expect((await read(writeTrace('trace.csv.gz', gzipSync('5,a\n6,b,3\n'))))[0]).toEqual(TWO)
  })

  it('in parts, however long it is, and says how far it is', async () => {
    const count = 20_000
    const lines = Array.from({ length: count }, (_, index) => `${index},user:${index % 7}`)
    const path = writeTrace('long.csv', lines.join('\n'))
    const file = await openTraceFile(path, { logKey: 'address', skipsBadLines: false })
    expect(file.share).toBe(0)
    let arrivals = 0
    let parts = 0
    for await (const part of file.parts()) {
      arrivals += part.length
      parts++
    }
    expect([arrivals, file.share]).toEqual([count, 1])
    expect(parts).toBeGreaterThan(4)
  })

  it('in order of time: what was written a little late counts as just come', async () => {
    const [arrivals, file] = await read(writeTrace('late', '1000,a\n999,b\n61000,c\n1000,d\n'))
    expect(arrivals.map(({ atMs, key }) => [atMs, key])).toEqual([
      [1_000, 'a'],
      [1_000, 'b'],
      [61_000, 'c'],
      [61_000, 'd'],
    ])
    expect(file.late).toBe(2)
  })
})

describe('a line that is wrong is named', () => {
  it.each([
    ['{"atMs":1,"key":"a"}\n{"atMs":2', 2, 'not JSON: "{\\"atMs\\":2"'],
    ['{"atMs":1,"key":"a"}\n7\n', 2, 'not an object such as {"atMs":0,"key":"a","cost":1}'],
    ['{"atMs":1,"key":"a"}\nnull\n', 2, 'not an object such as {"atMs":0,"key":"a","cost":1}'],
    ['{"atMs":1.5,"key":"a"}', 1, 'atMs must be a whole number of at least 0, got 1.5'],
    ['{"atMs":1,"key":7}', 1, 'key must be a text of at least 1 character, got 7'],
    ['{"atMs":1,"key":"a","cost":0}', 1, 'cost must be a whole number of at least 1, got 0'],
    ['{"atMs":1,"key":"a","workMs":0}', 1, 'workMs must be a whole number of at least 1, got 0'],
    ['1,a\n\n2,b,c\n', 3, 'cost must be a whole number of at least 1, got "c"'],
    ['1,a\n2\n', 2, 'key must be a text of at least 1 character, got undefined'],
    ['1,a,1,1\n', 1, 'more than atMs,key,cost: "1,a,1,1"'],
    ['60001,a\n0,b\n', 2, 'it is 60001 ms earlier than the line before it'],
  ])('%j', async (text, line, problem) => {
    const path = writeTrace('wrong', text)
    await expect(read(path)).rejects.toThrow(`${path}:${line}: ${problem} (--skip-bad-lines leaves such lines out)`)
  })

  it('in an access log', async () => {
    const good = '::1 - - [10/Oct/2025:13:55:36 +0000] "GET / HTTP/1.1" 200 1'
    const path = writeTrace('wrong', `${good}\n${good.replace('Oct', 'Okt')}\n`)
    await expect(read(path)).rejects.toThrow(`${path}:2: there is no month "Okt"`)
    await expect(read(writeTrace('wrong', `${good}\nnonsense\n`))).rejects.toThrow(
      ':2: not a line of an access log: "nonsense"',
    )
  })

  it('and left out where that is asked for', async () => {
    const [arrivals, file] = await read(writeTrace('wrong', '5,a\nx,y\n6,b,3\n6\n'), { skipsBadLines: true })
    expect([arrivals, file.skipped]).toEqual([TWO, 2])
  })

  it('when it is the first one and its format is unknown', async () => {
    const path = writeTrace('odd', '\nhello\n')
    await expect(read(path)).rejects.toThrow(
      `${path}:2: this is no JSON, no CSV of atMs,key,cost and no access log: --trace-format says what it is`,
    )
    await expect(read(path, { format: 'log' })).rejects.toThrow(`${path}:2: not a line of an access log: "hello"`)
  })

  it('when it does not end', async () => {
    const path = writeTrace('endless', `5,a\n6,${'b'.repeat(1_200_000)}\n`)
    await expect(read(path)).rejects.toThrow(`${path}:1: a line is longer than 1000000 characters`)
  })
})

describe('a file that cannot be read is an error', () => {
  it('because it is not there, or is a folder', async () => {
    await expect(read(join(folder, 'none'))).rejects.toThrow('none cannot be read: no such file')
    await expect(read(folder)).rejects.toThrow(`the trace ${folder} is a folder`)
  })

  it('because it is not packed though its name says so', async () => {
    await expect(read(writeTrace('plain.gz', '5,a\n'))).rejects.toThrow(
      'plain.gz cannot be read: incorrect header check',
    )
  })
})

describe('sluice simulate --trace', () => {
  async function asked(...args: string[]): Promise<[number, RecordingTerminal]> {
    const terminal = recordingTerminal()
    const code = await run(['simulate', '-r', 'fixed-window limit=1 window=1s', ...args], terminal)
    return [code, terminal]
  }

  it('plays the file', async () => {
    const [code, terminal] = await asked('--json', '--trace', writeTrace('two.csv', '5,a\n6,a\n1000,a\n'))
    expect(code).toBe(0)
    const { traffic, results } = JSON.parse(terminal.text())
    expect(traffic).toBe(`3 requests of ${join(folder, 'two.csv')}`)
    expect(results[0]).toMatchObject({ requests: 3, admitted: 2, refused: 1 })
  })

  it('says what it left out and what came late', async () => {
    const [code, terminal] = await asked('--skip-bad-lines', '-f', writeTrace('odd.csv', '5,a\nx\n4,a\n'))
    expect(code).toBe(0)
    expect(terminal.errors()).toBe(
      '1 lines could not be read and were skipped\n1 lines came after later ones and count at the time of those\n',
    )
  })

  it('fails with the line, and for a file without requests', async () => {
    const wrong = await asked('-f', writeTrace('bad.csv', '5,a\n6\n'))
    expect([wrong[0], wrong[1].text()]).toEqual([2, ''])
    expect(wrong[1].errors()).toContain('bad.csv:2: key must be')
    const [code, terminal] = await asked('-f', writeTrace('empty', ''))
    expect([code, terminal.errors()]).toEqual([2, `sluice: the trace ${join(folder, 'empty')} has no requests\n`])
  })
})
