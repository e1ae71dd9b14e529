import { expect, it } from 'vitest'
import { formatBytes, formatCount, formatCounted, formatRate, formatShare, formatShort } from './numbers.ts'

it('groups the digits of a count', () => {
  expect([formatCount(0), formatCount(999), formatCount(12_345), formatCount(1_234_567)]).toEqual([
    '0',
    '999',
    '12,345',
    '1,234,567',
  ])
})

it('puts a noun into the plural, except after one', () => {
  expect([formatCounted(0, 'request'), formatCounted(1, 'request'), formatCounted(2_000, 'request')]).toEqual([
    '0 requests',
    '1 request',
    '2,000 requests',
  ])
  expect([formatCounted(1, 'process', 'processes'), formatCounted(2, 'process', 'processes')]).toEqual([
    '1 process',
    '2 processes',
  ])
})

it('formats tenths of a rate below a hundred', () => {
  expect([formatRate(0), formatRate(0.25), formatRate(99.94), formatRate(100.4)]).toEqual(['0', '0.3', '99.9', '100'])
})

it('formats a share, and a dash where there is no whole', () => {
  expect([formatShare(1, 8), formatShare(0, 3), formatShare(3, 3), formatShare(0, 0)]).toEqual([
    '12.5 %',
    '0 %',
    '100 %',
    '—',
  ])
})

it('formats a size in units of a thousand', () => {
  expect([formatBytes(0), formatBytes(999), formatBytes(1_000), formatBytes(1_250_000), formatBytes(5e12)]).toEqual([
    '0 B',
    '999 B',
    '1 kB',
    '1.3 MB',
    '5,000 GB',
  ])
})

it('shortens the numbers of an axis', () => {
  expect([formatShort(0.5), formatShort(950), formatShort(1_500), formatShort(2_000_000)]).toEqual([
    '0.5',
    '950',
    '1.5k',
    '2M',
  ])
})
