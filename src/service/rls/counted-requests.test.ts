import { expect, it } from 'vitest'
import { createLiveBoard } from '../../observe/live-board.ts'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import { manualClock } from '../../testing/manual-clock.ts'
import { createMetrics } from '../metrics.ts'
import type { Descriptor } from './messages.ts'
import { readRlsConfig } from './read-rls-config.ts'
import { RlsService } from './rls-service.ts'

const TEXT = `domain: d
descriptors:
  - { key: user, rate_limit: { unit: day, requests_per_unit: 2 } }
  - { key: user, value: eve, rate_limit: { unit: day, requests_per_unit: 0 } }
  - { key: user, value: sam, shadow_mode: true, rate_limit: { unit: day, requests_per_unit: 0 } }
  - { key: page, rate_limit: { unit: day, requests_per_unit: 1 } }
`

const look = 0
const take = undefined

/** A service in memory, how to send it one request, and what its metrics and its board say. */
function open() {
  const clock = manualClock(0)
  const board = createLiveBoard({ clock })
  const metrics = createMetrics()
  const service = new RlsService([readRlsConfig(TEXT, 'envoy.yaml')], {
    store: memoryStore(),
    clock,
    watch(limiter) {
      board.watch(limiter)
      return metrics.watch(limiter)
    },
  })
  const compose = ([key, value, hitsAddend]: readonly [string, string, number | undefined]): Descriptor => ({
    entries: [{ key, value }],
    override: undefined,
    hitsAddend,
    isNegativeHits: false,
  })
  return {
    async ask(...descriptors: readonly (readonly [string, string, number | undefined])[]) {
      const request = { domain: 'd', descriptors: descriptors.map(compose), hitsAddend: 0 }
      return (await service.decide(request)).isOverLimit ? 'over' : 'ok'
    },
    board,
    /** The samples of a metric that are not 0, without its name and the name of the limiter. */
    async read(metric: string) {
      const lines = (await metrics.text()).split('\n').filter((line) => line.startsWith(`sluice_${metric}{`))
      return lines
        .filter((line) => !line.endsWith(' 0'))
        .map((line) => line.slice(`sluice_${metric}`.length).replace('limiter="rls/d",', ''))
    },
  }
}

it('a request that a limit of 0 refuses is a refusal of that limit in metrics and on the board', async () => {
  const { ask, read, board } = open()
  expect(await ask(['user', 'eve', take])).toBe('over')
  expect(await ask(['user', 'eve', take], ['page', 'home', take])).toBe('over')
  expect(await read('decisions_total')).toEqual([
    '{outcome="refused",reason="cost-exceeds-limit",decided_by="memory"} 2',
  ])
  expect(await read('tier_refusals_total')).toEqual(['{tier="user=eve"} 2'])
  expect(await read('cost_total')).toEqual([
    '{tier="user=eve",outcome="refused"} 2',
    '{tier="page",outcome="refused"} 1',
  ])
  const { mostRefused, policies } = board.report()
  expect(mostRefused.map(({ key, refused }) => `${key} ${refused}`)).toEqual(['user=eve=all 1', 'page=home 1'])
  expect(policies[0]).toMatchObject({ allowed: 0, refused: 2 })
  expect(board.listRefusals('rls/d', 'user=eve=all')).toMatchObject([{ limit: 0, remaining: 0, limitedBy: 'user=eve' }])
})

it('a limit of 0 in shadow mode is counted as what it would refuse', async () => {
  const { ask, read } = open()
  expect(await ask(['user', 'sam', take])).toBe('ok')
  expect(await ask(['user', 'sam', take], ['page', 'home', take])).toBe('ok')
  expect(await read('decisions_total')).toEqual(['{outcome="allowed",decided_by="memory"} 2'])
  expect(await read('would_refuse_total')).toEqual(['{tier="user=sam"} 2'])
  expect(await ask(['user', 'sam', take], ['user', 'eve', take])).toBe('over')
  expect(await read('would_refuse_total')).toEqual(['{tier="user=sam"} 3'])
})

it('a look that is refused is a refusal, and one that passes is not counted', async () => {
  const { ask, read } = open()
  expect(await ask(['page', 'home', look])).toBe('ok')
  expect(await read('decisions_total')).toEqual([])
  expect(await ask(['page', 'home', take])).toBe('ok')
  expect(await ask(['page', 'home', look])).toBe('over')
  expect(await read('decisions_total')).toEqual([
    '{outcome="allowed",decided_by="memory"} 1',
    '{outcome="refused",reason="limit",decided_by="memory"} 1',
  ])
  expect(await read('tier_refusals_total')).toEqual(['{tier="page"} 1'])
})

it('a look beside a limit that takes is one request', async () => {
  const { ask, read } = open()
  expect(await ask(['page', 'home', look], ['user', 'ann', take])).toBe('ok')
  expect(await read('cost_total')).toEqual(['{tier="user",outcome="allowed"} 1'])
  expect(await ask(['page', 'home', take])).toBe('ok')
  expect(await ask(['page', 'home', look], ['user', 'ann', take])).toBe('over')
  expect(await read('decisions_total')).toEqual([
    '{outcome="allowed",decided_by="memory"} 2',
    '{outcome="refused",reason="limit",decided_by="memory"} 1',
  ])
})

it('a request that has no limit is not counted', async () => {
  const { ask, read } = open()
  expect(await ask(['other', 'thing', take])).toBe('ok')
  expect(await read('decisions_total')).toEqual([])
})
