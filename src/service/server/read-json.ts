import { show } from '../../core/check.ts'
import { findTooDeep } from './json-depth.ts'
import { RequestError } from './request-error.ts'

/** Throws unless a body is announced as JSON. Browsers ask before they send that to a foreign server, and are not allowed to. */
export function assertJson(contentType: string | undefined): void {
  if (contentType !== undefined && JSON_TYPE.test(contentType)) return
  const message = `the content-type must be application/json in UTF-8, got ${show(contentType ?? 'none')}`
  throw new RequestError('UNSUPPORTED_CONTENT_TYPE', message)
}

/** The object in the body of a request. Its fields are not checked yet. */
export type JsonBody = Readonly<Record<string, unknown>>

/** Reads the object that a body holds. Throws where it is something else, with the reason of the decoder or the parser. */
export function readJson(body: Uint8Array): JsonBody {
  const text = readText(body)
  const tooDeep = findTooDeep(text)
  if (tooDeep !== undefined) throw new RequestError('INVALID_JSON', `the values of a body ${tooDeep}`)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new RequestError('INVALID_JSON', `the body is not JSON: ${(error as Error).message}`)
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonBody
  throw new RequestError('INVALID_JSON', `the body must be an object, got ${show(value)}`)
}

const JSON_TYPE = /^application\/json[ \t]*(;[ \t]*charset="?utf-?8"?[ \t]*)?$/i

function readText(body: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    throw new RequestError('INVALID_JSON', 'the body is not UTF-8')
  }
}
