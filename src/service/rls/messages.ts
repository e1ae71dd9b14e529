import type { HeaderField } from '../../http/header-fields.ts'
import type { Entry } from './match-descriptor.ts'
import { ProtobufReader, ProtobufWriter } from './protobuf.ts'
import type { Unit } from './units.ts'

/** `envoy.service.ratelimit.v3.RateLimitRequest`. */
export interface RateLimitRequest {
  readonly domain: string
  readonly descriptors: readonly Descriptor[]
  /** What each descriptor counts that says nothing else. 0 stands for 1. */
  readonly hitsAddend: number
}

/** `envoy.extensions.common.ratelimit.v3.RateLimitDescriptor`. */
export interface Descriptor {
  readonly entries: readonly Entry[]
  /** A limit that the request brings. */
  readonly override: { readonly requestsPerUnit: number; readonly unit: number } | undefined
  /** What it counts; 0 looks and takes nothing. */
  readonly hitsAddend: number | undefined
  /** Whether the hits are to be refunded. */
  readonly isNegativeHits: boolean
}

/** `envoy.service.ratelimit.v3.RateLimitResponse`. */
export interface RateLimitResponse {
  readonly isOverLimit: boolean
  /** One for each descriptor. */
  readonly statuses: readonly DescriptorStatus[]
  readonly headers: readonly Pick<HeaderField, 'name' | 'value'>[]
}

/** What a response says of one descriptor. */
export interface DescriptorStatus {
  readonly isOverLimit: boolean
  readonly currentLimit: { readonly name: string; readonly requestsPerUnit: number; readonly unit: Unit } | undefined
  readonly remaining: number
  readonly resetSeconds: number
}

/** Decodes a request. Throws a `RangeError` when the bytes are no message. */
export function decodeRequest(bytes: Buffer): RateLimitRequest {
  let domain = ''
  let hitsAddend = 0
  const descriptors: Descriptor[] = []
  new ProtobufReader(bytes).readFields((field, reader) => {
    if (field === 1) domain = reader.readText()
    else if (field === 2) descriptors.push(readDescriptor(reader))
    else if (field === 3) hitsAddend = reader.readNumber()
    else return false
    return true
  })
  return { domain, descriptors, hitsAddend }
}

function readDescriptor(reader: ProtobufReader): Descriptor {
  const entries: Entry[] = []
  let override: Descriptor['override']
  let hitsAddend: number | undefined
  let isNegativeHits = false
  reader.readMessage((field) => {
    if (field === 1) {
      const [key, value] = readPair(reader, () => reader.readText(), '')
      entries.push({ key, value })
    } else if (field === 2) {
      const [requestsPerUnit, unit] = readPair(reader, () => reader.readNumber(), 0)
      override = { requestsPerUnit, unit }
    } else if (field === 3) hitsAddend = readPair(reader, () => reader.readNumber(), 0)[0]
    else if (field === 4) isNegativeHits = reader.readNumber() !== 0
    else return false
    return true
  })
  return { entries, override, hitsAddend, isNegativeHits }
}

/** Reads a message whose fields 1 and 2 are of one type. */
function readPair<Value>(reader: ProtobufReader, read: () => Value, absent: Value): [Value, Value] {
  const pair: [Value, Value] = [absent, absent]
  reader.readMessage((field) => {
    if (field !== 1 && field !== 2) return false
    pair[field - 1] = read()
    return true
  })
  return pair
}

const OK = 1
const OVER_LIMIT = 2

/** Encodes a response. */
export function encodeResponse({ isOverLimit, statuses, headers }: RateLimitResponse): Buffer {
  const response = new ProtobufWriter().writeNumber(1, isOverLimit ? OVER_LIMIT : OK)
  for (const status of statuses) response.writeMessage(2, encodeStatus(status))
  for (const { name, value } of headers) {
    response.writeMessage(3, new ProtobufWriter().writeText(1, name).writeText(2, value))
  }
  return response.finish()
}

function encodeStatus({ isOverLimit, currentLimit, remaining, resetSeconds }: DescriptorStatus): ProtobufWriter {
  const status = new ProtobufWriter().writeNumber(1, isOverLimit ? OVER_LIMIT : OK)
  if (currentLimit !== undefined) {
    const { requestsPerUnit, unit, name } = currentLimit
    const limit = new ProtobufWriter().writeNumber(1, requestsPerUnit).writeNumber(2, unit.number).writeText(3, name)
    status.writeMessage(2, limit)
  }
  status.writeNumber(3, remaining)
  if (resetSeconds > 0) status.writeMessage(4, new ProtobufWriter().writeNumber(1, resetSeconds))
  return status
}
