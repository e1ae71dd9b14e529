import { show } from '../../core/check.ts'
import type { Arrival } from '../../simulate/simulation.ts'

/** How a line of a file says who came and when. */
export const TRACE_FORMATS = ['json', 'csv', 'log'] as const

/** One of the formats. */
export type TraceFormat = (typeof TRACE_FORMATS)[number]

/** Whom a line of an access log is about. */
export type LogKey = 'address' | 'user'

/** A request, `undefined` for a line that says nothing such as a heading, or what is wrong with it. */
export type ReadLine = Arrival | undefined | { readonly problem: string }

/** The format of a file by its first line; `undefined` when it is none that is known. */
export function detectFormat(line: string): TraceFormat | undefined {
  if (line.startsWith('{')) return 'json'
  if (CSV_HEADING.test(line) || /^"?\d+"?\s*,/.test(line)) return 'csv'
  return LOG.test(line) ? 'log' : undefined
}

/** Reads one line. */
export function readLine(line: string, format: TraceFormat, logKey: LogKey): ReadLine {
  if (line.trim() === '') return undefined
  if (format === 'json') return jsonLine(line)
  return format === 'csv' ? csvLine(line) : logLine(line, logKey)
}

const CSV_HEADING = /^\s*"?atMs"?\s*,/i

function jsonLine(line: string): ReadLine {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return { problem: `not JSON: ${show(line)}` }
  }
  if (typeof value !== 'object' || value === null)
    return { problem: `not an object such as {"atMs":0,"key":"a","cost":1}` }
  const { atMs, key, cost, workMs } = value as Record<string, unknown>
  return checkArrival(atMs, key, cost ?? 1, workMs)
}

function csvLine(line: string): ReadLine {
  if (CSV_HEADING.test(line)) return undefined
  const cells = [...line.matchAll(CELL)].map(([, quoted, plain]) =>
    quoted === undefined ? (plain as string).trim() : quoted.replaceAll('""', '"'),
  )
  const [atMs, key, cost = '1', ...more] = cells
  if (more.length > 0) return { problem: `more than atMs,key,cost: ${show(line)}` }
  return checkArrival(readNumber(atMs), key, readNumber(cost), undefined)
}

const CELL = /(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g

function readNumber(text: string | undefined): unknown {
  return text !== undefined && /^\d{1,16}$/.test(text) ? Number(text) : text
}

// host ident user [day/month/year:hour:minute:second zone] "request" and whatever follows.
const LOG = /^(\S+) \S+ (.+?) \[(\d{2})\/(\w{3})\/(\d{4}):(\d{2}):(\d{2}):(\d{2}) ([+-])(\d{2})(\d{2})\]/
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

function logLine(line: string, logKey: LogKey): ReadLine {
  const found = LOG.exec(line)
  if (found === null) return { problem: `not a line of an access log: ${show(line)}` }
  const [, address, user, day, month, year, hour, minute, second, sign, zoneHours, zoneMinutes] = found
  const monthIndex = MONTHS.indexOf(month as string)
  const offsetMs = (Number(zoneHours) * 60 + Number(zoneMinutes)) * 60_000 * (sign === '-' ? -1 : 1)
  const localMs = Date.UTC(Number(year), monthIndex, Number(day), Number(hour), Number(minute), Number(second))
  if (monthIndex < 0) return { problem: `there is no month ${show(month)}` }
  // Without a login the address stands for the user.
  const key = logKey === 'user' && user !== '-' ? user : address
  return checkArrival(localMs - offsetMs, key, 1, undefined)
}

function checkArrival(atMs: unknown, key: unknown, cost: unknown, workMs: unknown): ReadLine {
  if (!isWhole(atMs, 0)) return { problem: `atMs must be a whole number of at least 0, got ${show(atMs)}` }
  if (typeof key !== 'string' || key === '')
    return { problem: `key must be a text of at least 1 character, got ${show(key)}` }
  if (!isWhole(cost, 1)) return { problem: `cost must be a whole number of at least 1, got ${show(cost)}` }
  if (workMs === undefined) return { atMs, key, cost }
  if (!isWhole(workMs, 1)) return { problem: `workMs must be a whole number of at least 1, got ${show(workMs)}` }
  return { atMs, key, cost, workMs }
}

function isWhole(value: unknown, least: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= least
}
