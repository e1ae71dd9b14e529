import { show } from '../../core/check.ts'
import { RequestError } from './request-error.ts'

const NO_QUERY: ReadonlyMap<string, string> = new Map()

/** Reads the parameters of a query, percent-encoded UTF-8. Throws when one comes twice: the client may have meant either. */
export function parseQuery(text: string): ReadonlyMap<string, string> {
  if (text === '') return NO_QUERY
  const query = new Map<string, string>()
  for (const part of text.split('&')) {
    const at = part.indexOf('=')
    const name = decodePercent(at < 0 ? part : part.slice(0, at))
    if (query.has(name)) {
      throw new RequestError('INVALID_REQUEST', `the query must have the parameter ${show(name)} once, got it twice`)
    }
    query.set(name, at < 0 ? '' : decodePercent(part.slice(at + 1)))
  }
  return query
}

/** Decodes a part of a URL. Throws for bytes that are no UTF-8: two different texts must never be read as one. */
export function decodePercent(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    throw new RequestError('INVALID_REQUEST', `a URL must be percent-encoded UTF-8, got ${show(text)}`)
  }
}
