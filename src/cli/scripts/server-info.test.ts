import { expect, it } from 'vitest'
import { formatEngine, listEvictionWarnings, listServerProblems, readInfo } from './server-info.ts'

const composeInfo = (...lines: string[]) => readInfo(`# Server\r\n${lines.join('\r\n')}\r\n`)

it.each([
  [['redis_version:7.0.15', 'role:master'], 'Redis 7.0.15, primary', []],
  [['redis_version:7.2.4', 'valkey_version:8.1.0', 'role:master'], 'Valkey 8.1.0, primary', []],
  [['redis_version:5.0.14', 'role:master'], 'Redis 5.0.14, primary', ['Redis before 6.0 was not tried']],
  [['redis_version:8.0.1', 'role:slave'], 'Redis 8.0.1, replica', ['it is a replica, and takes no writes']],
])('%j is %s', (lines, engine, problems) => {
  const info = composeInfo(...lines)
  expect([formatEngine(info), listServerProblems(info)]).toEqual([engine, problems])
})

it.each([
  ['0', 'allkeys-lru', 0],
  ['1000', 'noeviction', 0],
  ['1000', 'volatile-ttl', 0],
  ['1000', 'volatile-lru', 1],
  ['1000', 'volatile-random', 1],
  ['1000', 'allkeys-lfu', 1],
])('a memory of %s by %s gets %d warnings', (most, policy, count) => {
  expect(listEvictionWarnings(composeInfo(`maxmemory:${most}`, `maxmemory_policy:${policy}`))).toHaveLength(count)
})
