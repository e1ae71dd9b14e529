import { type CommandFailure, UsageError } from '../terminal/command-failure.ts'

/** Where one server listens. */
export interface HostAndPort {
  readonly host: string
  readonly port: number
}

/** What a URL says about a Redis. */
export interface RedisAddress {
  readonly topology: 'single' | 'cluster' | 'sentinel'
  readonly isTls: boolean
  /** At least one: the server itself, or those that know where the others are. */
  readonly hosts: readonly HostAndPort[]
  readonly user: string | undefined
  readonly password: string | undefined
  readonly db: number
  /** What the Sentinels call the primary. Only of a `sentinel`. */
  readonly name: string | undefined
  /** Where it is, for people: without user and password. */
  readonly place: string
}

/** What URLs may look like, for help and messages. */
const REDIS_URLS: readonly string[] = [
  'redis://[user:password@]host[:port][/db]',
  'rediss://… for TLS',
  'redis-cluster://[user:password@]host:port[,host:port…]',
  'rediss-cluster://… for TLS',
  'redis-sentinel://[user:password@]host:port[,host:port…]/name[/db]',
]

/** Reads the URL of a Redis. Throws what is wrong with it, and never a part that could be a password. */
export function parseRedisUrl(url: string): RedisAddress {
  const [scheme, rest] = cutAt(url, '://')
  const kind = SCHEMES.get(scheme.toLowerCase())
  if (kind === undefined || rest === undefined) {
    // Without a scheme that is known, all of it might be a secret.
    throw createUrlError(`a Redis URL must start with ${[...SCHEMES.keys()].map((name) => `${name}://`).join(', ')}`)
  }
  if (/[?#]/.test(rest)) throw createUrlError('a Redis URL has nothing behind ? or #: write %3F and %23 in a password')
  const [authority, path = ''] = cutAt(rest, '/')
  const at = authority.lastIndexOf('@')
  const [user, password] = at < 0 ? [] : cutAt(authority.slice(0, at), ':').map(decode)
  const hosts = authority
    .slice(at + 1)
    .split(',')
    .map((text) => parseHostAndPort(text, kind.port))
  if (kind.topology === 'single' && hosts.length > 1) {
    throw createUrlError('a URL of several hosts starts with redis-cluster:// or redis-sentinel://')
  }
  const { name, db } = parsePath(kind.topology, path)
  const where = hosts.map(formatHostAndPort).join(', ')
  return {
    ...kind,
    hosts,
    user: user || undefined,
    password: password || undefined,
    name,
    db,
    place: describePlace(kind.topology, where, name) + (db > 0 ? `/${db}` : ''),
  }
}

/** `127.0.0.1:6379`, `[::1]:6379`. */
export function formatHostAndPort({ host, port }: HostAndPort): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

type Kind = Pick<RedisAddress, 'topology' | 'isTls'> & { readonly port: number }

const SCHEMES: ReadonlyMap<string, Kind> = new Map([
  ['redis', { topology: 'single', isTls: false, port: 6_379 }],
  ['rediss', { topology: 'single', isTls: true, port: 6_379 }],
  ['redis-cluster', { topology: 'cluster', isTls: false, port: 6_379 }],
  ['rediss-cluster', { topology: 'cluster', isTls: true, port: 6_379 }],
  ['redis-sentinel', { topology: 'sentinel', isTls: false, port: 26_379 }],
])

function describePlace(topology: RedisAddress['topology'], where: string, name: string | undefined): string {
  if (topology === 'single') return where
  return topology === 'cluster' ? `the cluster at ${where}` : `${name} of the Sentinels at ${where}`
}

function parseHostAndPort(text: string, defaultPort: number): HostAndPort {
  const [, bracketed, plain, digits] = /^(?:\[([\da-f:.]+)\]|([^\s:@/[\]]*))(?::(\d{1,5}))?$/i.exec(text) ?? []
  const port = digits === undefined ? defaultPort : Number(digits)
  const host = bracketed ?? plain
  if (host === undefined || port < 1 || port > 65_535) {
    const rule = 'host, host:port or [address]:port, with ports from 1 to 65535'
    throw createUrlError(
      `a Redis URL names ${rule}; in a password write %40 for @, %3A for :, %2F for / and %2C for a comma`,
    )
  }
  return { host: host === '' ? 'localhost' : host, port }
}

function parsePath(topology: RedisAddress['topology'], path: string): { name: string | undefined; db: number } {
  const parts = path.split('/').filter((part) => part !== '')
  const name = topology === 'sentinel' ? parts.shift() : undefined
  if (topology === 'sentinel' && name === undefined) {
    throw createUrlError("a URL of Sentinels ends with the primary's name, redis-sentinel://host:port/name")
  }
  if (topology === 'cluster' && parts.length > 0)
    throw createUrlError('a Cluster has no databases: its URL ends with the hosts')
  const [db = '0'] = parts
  if (parts.length > 1 || !/^\d{1,6}$/.test(db))
    throw createUrlError('the database at the end of a Redis URL must be a number')
  return { name: name && decode(name), db: Number(db) }
}

function cutAt(text: string, mark: string): [string, string | undefined] {
  const at = text.indexOf(mark)
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + mark.length)]
}

function decode(text: string | undefined): string {
  try {
    return decodeURIComponent(text ?? '')
  } catch {
    throw createUrlError('a % in a Redis URL starts a character such as %40: write %25 for the sign itself')
  }
}

function createUrlError(reason: string): CommandFailure {
  return new UsageError(`${reason}. A Redis URL is one of:\n  ${REDIS_URLS.join('\n  ')}`)
}
