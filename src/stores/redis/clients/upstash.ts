import { knownOptions, show } from '../../../core/check.ts'
import { LimiterError } from '../../../core/limiter-error.ts'
import type { Delivery, RedisConnection } from './redis-connection.ts'
import { showAddress } from './show-address.ts'
import { sweep } from './sweep.ts'

/** Options of `upstashConnection`. */
export interface UpstashConnectionOptions {
  /** Where the database answers, such as `https://eu1-example.upstash.io`. */
  readonly url: string
  /** What it lets in. It stays out of messages. */
  readonly token: string
}

/**
 * Sends commands over HTTP as Upstash takes them, where a runtime has no sockets: one request a command, through the global `fetch`. No request
 * is sent twice, because the first may have counted; the package of Upstash repeats what failed.
 */
export function upstashConnection(options: UpstashConnectionOptions): RedisConnection {
  knownOptions('upstashConnection()', options, ['url', 'token'])
  const address = parseAddress(options.url)
  const headers = { authorization: `Bearer ${checkToken(options.token)}`, 'content-type': 'application/json' }
  const send = async (command: readonly string[], delivery?: Delivery): Promise<unknown> => {
    const abort = new AbortController()
    delivery?.onWithdraw(() => abort.abort())
    const body = JSON.stringify([command])
    // A redirection would have the request sent a second time, to wherever it leads. Workers do not know 'error'.
    const response = await fetch(address, { method: 'POST', headers, body, redirect: 'manual', signal: abort.signal })
    return readReply(response)
  }
  return {
    send: (_key, command, delivery) => send(command, delivery),
    sendToAll: (command) => send(command),
    sweep: (start) => sweep(send, start),
  }
}

/** The reply of the server, or its error in its own words. What is neither comes from something in between. */
async function readReply(response: Response): Promise<unknown> {
  const reply = parseReply(await response.text())
  const only = response.ok && Array.isArray(reply) && reply.length === 1 ? (reply[0] as Reply) : undefined
  if (only !== undefined && 'result' in only) return only.result
  const error = only?.error ?? (reply as Reply | undefined)?.error
  const said = typeof error === 'string' ? error : `the status ${response.status} without a reply of Redis`
  throw new Error(response.status === 401 ? `WRONGPASS the database does not take the token: ${said}` : said)
}

interface Reply {
  readonly result?: unknown
  readonly error?: unknown
}

function parseReply(text: string): unknown {
  try {
    return JSON.parse(text) ?? undefined
  } catch {
    return undefined
  }
}

/** Where commands go: as a pipeline of one, whose errors come in the words of Redis. */
function parseAddress(url: unknown): string {
  if (typeof url === 'string' && /^https?:\/\/[^/?#@\s]+\/?$/.test(url)) return `${url.replace(/\/$/, '')}/pipeline`
  const got = typeof url === 'string' ? showAddress(url) : show(url)
  throw new LimiterError('INVALID_OPTION', `url must be ${ADDRESS}, got ${got}`)
}

const ADDRESS = 'the HTTP address of a database without user, path and query, such as https://eu1-example.upstash.io'

function checkToken(token: unknown): string {
  if (typeof token === 'string' && /^[!-~]+$/.test(token)) return token
  const got = typeof token === 'string' ? `a text of ${token.length} characters` : show(token)
  throw new LimiterError('INVALID_OPTION', `token must be printable ASCII characters without spaces, got ${got}`)
}
