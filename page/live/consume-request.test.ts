import { expect, it } from 'vitest'
import type { LiveTier } from '../../src/observe/live-report.ts'
import { composeConsumeRequest } from './consume-request.ts'

const tier = (name: string): LiveTier => ({ name, kind: 'gcra', limit: 1, isShadow: false, refused: 0, near: 0 })
const policy = (...names: string[]) => ({ name: 'api', tiers: names.map(tier), allowed: 0, refused: 0 })

it('asks about one key under a policy of one rule', () => {
  expect(composeConsumeRequest(policy('api'), { api: 'user:42' }, '3')).toEqual({
    policy: 'api',
    key: 'user:42',
    cost: 3,
  })
})

it('asks about a key for each tier, also one that is not filled in', () => {
  expect(composeConsumeRequest(policy('user', 'ip'), { user: '42', other: 'x' }, '1')).toEqual({
    policy: 'api',
    key: { user: '42', ip: '' },
    cost: 1,
  })
})
