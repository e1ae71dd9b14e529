import { expect, it } from 'vitest'
import { parseRedisUrl } from './redis-address.ts'

const single = { topology: 'single', isTls: false, user: undefined, password: undefined, db: 0, name: undefined }

it.each([
  ['redis://localhost', { ...single, hosts: [{ host: 'localhost', port: 6_379 }], place: 'localhost:6379' }],
  ['redis://', { ...single, hosts: [{ host: 'localhost', port: 6_379 }], place: 'localhost:6379' }],
  ['REDIS://h:1/', { ...single, hosts: [{ host: 'h', port: 1 }], place: 'h:1' }],
  ['redis://[::1]:7000/2', { ...single, hosts: [{ host: '::1', port: 7_000 }], db: 2, place: '[::1]:7000/2' }],
  [
    'rediss://me:s%40c%3Aret%2F@h:1',
    { ...single, isTls: true, hosts: [{ host: 'h', port: 1 }], user: 'me', password: 's@c:ret/', place: 'h:1' },
  ],
  ['redis://:pass@h', { ...single, hosts: [{ host: 'h', port: 6_379 }], password: 'pass', place: 'h:6379' }],
  ['redis://:p@ss@h', { ...single, hosts: [{ host: 'h', port: 6_379 }], password: 'p@ss', place: 'h:6379' }],
  ['redis://me@h', { ...single, hosts: [{ host: 'h', port: 6_379 }], user: 'me', place: 'h:6379' }],
  [
    'redis-cluster://a:1,b,[::1]:3',
    {
      ...single,
      topology: 'cluster',
      hosts: [
        { host: 'a', port: 1 },
        { host: 'b', port: 6_379 },
        { host: '::1', port: 3 },
      ],
      place: 'the cluster at a:1, b:6379, [::1]:3',
    },
  ],
  [
    'rediss-cluster://:p@a:1',
    {
      ...single,
      topology: 'cluster',
      isTls: true,
      password: 'p',
      hosts: [{ host: 'a', port: 1 }],
      place: 'the cluster at a:1',
    },
  ],
  [
    'redis-sentinel://a,b:2/my%20main/3',
    {
      ...single,
      topology: 'sentinel',
      hosts: [
        { host: 'a', port: 26_379 },
        { host: 'b', port: 2 },
      ],
      name: 'my main',
      db: 3,
      place: 'my main of the Sentinels at a:26379, b:2/3',
    },
  ],
])('reads %s', (url, address) => {
  expect(parseRedisUrl(url)).toMatchObject(address)
})

it.each([
  ['', 'a Redis URL must start with redis://'],
  ['hunter2', 'a Redis URL must start with redis://'],
  ['localhost:6379', 'a Redis URL must start with redis://'],
  ['http://me:hunter2@h', 'a Redis URL must start with redis://'],
  ['redis://h:port', 'a Redis URL names host, host:port or [address]:port, with ports from 1 to 65535'],
  ['redis://h:0', 'with ports from 1 to 65535'],
  ['redis://h:65536', 'with ports from 1 to 65535'],
  ['redis://:hunter2/x@h', 'write %40 for @, %3A for :, %2F for / and %2C for a comma'],
  ['redis://u:hunter2,x@h:1:2', 'write %40 for @'],
  ['redis://:hunter2%@h', 'write %25 for the sign itself'],
  ['redis://:hunter2?@h', 'a Redis URL has nothing behind ? or #'],
  ['redis://:hunter2#@h', 'a Redis URL has nothing behind ? or #'],
  ['redis://a:1,b:2', 'a URL of several hosts starts with redis-cluster:// or redis-sentinel://'],
  ['redis://h/first', 'the database at the end of a Redis URL must be a number'],
  ['redis://h/1/2', 'the database at the end of a Redis URL must be a number'],
  ['redis-cluster://h:1/1', 'a Cluster has no databases'],
  ['redis-sentinel://h:1', "a URL of Sentinels ends with the primary's name"],
])('refuses %s with the rule, and does not print it', (url, reason) => {
  expect(() => parseRedisUrl(url)).toThrow(reason)
  expect(() => parseRedisUrl(url)).toThrow(expect.objectContaining({ exitCode: 2 }))
  expect(() => parseRedisUrl(url)).not.toThrow('hunter2')
})
