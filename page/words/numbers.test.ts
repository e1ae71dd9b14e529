import { expect, it } from 'vitest'
import { bytes, count, counted, rate, share, short } from './numbers.ts'

it('groups the digits of a count', () => {
  expect([count(0), count(999), count(12_345), count(1_234_567)]).toEqual(['0', '999', '12,345', '1,234,567'])
})

it('puts a noun into the plural, except after one', () => {
  expect([counted(0, 'request'), counted(1, 'request'), counted(2_000, 'request')]).toEqual([
    '0 requests',
    '1 request',
    '2,000 requests',
  ])
})

it('tells tenths of a rate below a hundred', () => {
  expect([rate(0), rate(0.25), rate(99.94), rate(100.4)]).toEqual(['0', '0.3', '99.9', '100'])
})

it('tells a share of something, and nothing of nothing', () => {
  expect([share(1, 8), share(0, 3), share(3, 3), share(0, 0)]).toEqual(['12.5 %', '0 %', '100 %', '—'])
})

it('tells a size in units of a thousand', () => {
  expect([bytes(0), bytes(999), bytes(1_000), bytes(1_250_000), bytes(5e12)]).toEqual([
    '0 B',
    '999 B',
    '1 kB',
    '1.3 MB',
    '5,000 GB',
  ])
})

it('shortens the numbers of an axis', () => {
  expect([short(0.5), short(950), short(1_500), short(2_000_000)]).toEqual(['0.5', '950', '1.5k', '2M'])
})
