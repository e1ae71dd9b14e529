import { expect, it } from 'vitest'
import { exampleReport, exampleSecond } from './report.examples.ts'
import { composeTimeLines, describeShownTime, listOutageStretches, resolveShownStretch } from './time-lines.ts'

it('puts the seconds into columns, under the selection', () => {
  const seconds = [
    exampleSecond({ atMs: 1_000, allowed: 5, refused: 1, p50Ms: 0.2, p99Ms: 3 }),
    exampleSecond({ atMs: 2_000, allowed: 4, byPolicy: { api: { allowed: 3, refused: 0, byTier: {} } } }),
  ]
  expect(composeTimeLines(seconds, {})).toEqual({
    timesS: [1, 2],
    allowed: [5, 4],
    refused: [1, 0],
    p50Ms: [0.2, null],
    p99Ms: [3, null],
  })
  expect(composeTimeLines(seconds, { policy: 'api' }).allowed).toEqual([0, 3])
})

it.each([
  { upS: 0, shown: { fromS: 1_000, toS: 1_060 }, words: '1 s' },
  { upS: 25, shown: { fromS: 1_000, toS: 1_060 }, words: '25 s' },
  { upS: 200, shown: { fromS: 1_000, toS: 1_200 }, words: '3 min 20 s' },
  { upS: 600, shown: { fromS: 1_000, toS: 1_600 }, words: '10 min' },
  { upS: 5_000, shown: { fromS: 5_400, toS: 6_000 }, words: '10 min' },
])('$upS s after its start a service is shown from $shown.fromS to $shown.toS', ({ upS, shown, words }) => {
  const service = { ...exampleReport({}).service, startedAtMs: 1_000_400, nowMs: 1_000_400 + upS * 1_000 }
  expect(resolveShownStretch(exampleReport({ service }))).toEqual(shown)
  expect(describeShownTime(exampleReport({ service }))).toBe(words)
})

it('ends an outage that goes on at the present, not at the end of the axis', () => {
  const service = { ...exampleReport({}).service, nowMs: 20_000 }
  const outages = [{ fromMs: 10_000, toMs: null, error: 'still on' }]
  expect(listOutageStretches(exampleReport({ service, outages }))).toEqual([{ fromS: 10, toS: 20 }])
})

it('marks outages as far as they are shown', () => {
  const service = { ...exampleReport({}).service, nowMs: 1_000_000 }
  const outages = [
    { fromMs: 0, toMs: 399_000, error: 'long gone' },
    { fromMs: 390_000, toMs: 420_000, error: 'half in sight' },
    { fromMs: 500_000, toMs: 510_500, error: 'in sight' },
    { fromMs: 990_000, toMs: null, error: 'still on' },
  ]
  expect(listOutageStretches(exampleReport({ service, outages }))).toEqual([
    { fromS: 400, toS: 420 },
    { fromS: 500, toS: 510.5 },
    { fromS: 990, toS: 1_000 },
  ])
})
