import { isIP } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../test/effort.ts'
import { formatAddress, maskAddress, parseBytes } from './address.ts'

const group = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff })).map((number) => number.toString(16))
const dotted = fc
  .array(fc.integer({ min: 0, max: 300 }), { minLength: 3, maxLength: 5 })
  .map((bytes) => bytes.join('.'))
// Nearly right: a piece too many or too few, in any order.
const piece = fc.oneof(
  { weight: 4, arbitrary: group },
  { weight: 6, arbitrary: fc.constantFrom(':', '::') },
  { weight: 1, arbitrary: dotted },
  { weight: 1, arbitrary: fc.constantFrom('01', '12345', 'g', '.', '%eth0', '%', 'ABCD', ' ') },
)
const ipv6 = fc
  .tuple(fc.array(group, { minLength: 6, maxLength: 9 }), fc.boolean(), fc.option(dotted))
  .map(([groups, shortens, end]) => {
    const text = [...groups, ...(end === null ? [] : [end])].join(':')
    return shortens ? text.replace(/(^|:)0(:0)*(:|$)/, '::') : text
  })
const text = fc.oneof(
  ipv6,
  dotted,
  fc.array(piece, { maxLength: 18 }).map((pieces) => pieces.join('')),
)
const bytes = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 255 }))

describe('parseBytes', () => {
  it.each([
    ['203.0.113.7', [203, 0, 113, 7]],
    ['::', Array(16).fill(0)],
    ['1::', [0, 1, ...Array(14).fill(0)]],
    ['::FfFf:1.2.3.4', [...Array(10).fill(0), 255, 255, 1, 2, 3, 4]],
    ['1:2:3:4:5:6:7:8', [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8]],
    ['1:2:3:4:5:6:7.8.9.10', [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 7, 8, 9, 10]],
    ['fe80::1%eth0.100', [0xfe, 0x80, ...Array(13).fill(0), 1]],
  ])('%s', (address, expected) => {
    expect(parseBytes(address)).toEqual(expected)
  })

  it.each([
    '1::2::3',
    '1:2:3:4::5:6:7:8',
    '1:2:3:4:5:6:7',
    ':1:2:3:4:5:6:7',
    '1.2.3.4::',
    '::1.2.3',
    '::00001',
    '::1%',
  ])('%s is no address', (address) => {
    expect(parseBytes(address)).toBeUndefined()
  })

  it('takes for an address what Node does', () => {
    fc.assert(
      fc.property(text, (one) => {
        expect(parseBytes(one)?.length).toBe({ 0: undefined, 4: 4, 6: 16 }[isIP(one)])
      }),
      { numRuns: runs('formula') },
    )
  })
})

describe('formatAddress', () => {
  it.each([
    ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['1:0:0:2:0:0:0:3', '1:0:0:2::3'],
    ['1:0:2:3:4:5:6:7', '1:0:2:3:4:5:6:7'],
    ['10:0:0:100:0:0:0:1000', '10:0:0:100::1000'],
  ])('%s is %s', (address, expected) => {
    expect(formatAddress(parseBytes(address) as number[])).toBe(expected)
  })

  it('writes an address as a URL does, and reads it back', () => {
    fc.assert(
      fc.property(fc.array(bytes, { minLength: 16, maxLength: 16 }), (address) => {
        const written = formatAddress(address)
        expect(new URL(`http://[${written}]`).hostname).toBe(`[${written}]`)
        expect(parseBytes(written)).toEqual(address)
      }),
      { numRuns: runs('formula') },
    )
  })
})

describe('maskAddress', () => {
  it.each([
    [0, [0, 0, 0, 0]],
    [1, [128, 0, 0, 0]],
    [9, [255, 128, 0, 0]],
    [24, [255, 255, 255, 0]],
    [32, [255, 255, 255, 255]],
  ])('keeps %i bits', (bits, expected) => {
    expect(maskAddress([255, 255, 255, 255], bits)).toEqual(expected)
  })
})
