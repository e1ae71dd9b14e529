import { expect, it } from 'vitest'
import type { Store } from '../../core/store.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import type { TieredLimiter } from '../../limiter/tiered-limiter.ts'
import { fixedWindow } from '../../rules/fixed-window/fixed-window.ts'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import type { PostRoute } from '../server/route.ts'
import { consumeRoutes } from './consume.ts'
import type { PolicyInForce } from './service-context.ts'

it('a request of a batch that the store throws at has its error, and the others their decisions', async () => {
  const memory = memoryStore()
  const store: Store = {
    ...memory,
    decide(call) {
      if (call.operations[0]?.key.includes('broken')) throw new Error('full')
      return memory.decide(call)
    },
  }
  const limiter = createLimiter({ name: 'api', rule: fixedWindow({ limit: 2, window: 1_000 }), store })
  const policy: PolicyInForce = { name: 'api', limiter: limiter as TieredLimiter, isTiered: false }
  const heard: unknown[] = []
  const routes = consumeRoutes({
    policies: { get: () => policy, all: () => [policy] },
    onError: (error) => heard.push(error),
  })
  const requests = ['ann', 'broken', 'bob'].map((key) => ({ policy: 'api', key }))
  const response = await (routes['/v1/consume'] as PostRoute).handle({ requests })
  expect(JSON.parse(`${response.body}`).decisions).toMatchObject([
    { allowed: true, remaining: 1 },
    { error: { code: 'INTERNAL' } },
    { allowed: true, remaining: 1 },
  ])
  expect(heard).toEqual([new Error('full')])
})
