import { createHash, randomUUID } from 'node:crypto'

/** A script that no server has seen, with the SHA-1 that servers know it by. */
export interface FreshScript {
  readonly source: string
  readonly sha1: string
}

/** A script that adds its first argument to its key and returns the sum. */
export function freshCounter(): FreshScript {
  const source = `-- ${randomUUID()}\nreturn redis.call('INCRBY', KEYS[1], ARGV[1])`
  return { source, sha1: createHash('sha1').update(source).digest('hex') }
}

/** A key that no test has used. */
export function freshKey(): string {
  return `client:${randomUUID()}`
}
