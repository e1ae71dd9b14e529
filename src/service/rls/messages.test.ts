import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../../test/effort.ts'
import { decodeRequest, encodeResponse } from './messages.ts'
import { UNITS, type Unit } from './units.ts'

const bytes = (hex: string) => Buffer.from(hex.replaceAll(' ', ''), 'hex')
// domain "d"; a descriptor with the entry ("k", "v")
const DOMAIN = '0a 01 64'
const ENTRY = '0a 06 0a 01 6b 12 01 76'
const request = (descriptor: string) => {
  const length = bytes(descriptor).length.toString(16).padStart(2, '0')
  return decodeRequest(bytes(`${DOMAIN} 12 ${length} ${descriptor}`))
}
const PLAIN = {
  entries: [{ key: 'k', value: 'v' }],
  override: undefined,
  hitsAddend: undefined,
  isNegativeHits: false,
}

describe('a request', () => {
  it('has a domain, descriptors and hits', () => {
    expect(decodeRequest(bytes(`${DOMAIN} 12 08 ${ENTRY} 18 ac 02`))).toEqual({
      domain: 'd',
      descriptors: [PLAIN],
      hitsAddend: 300,
    })
    expect(decodeRequest(bytes(''))).toEqual({ domain: '', descriptors: [], hitsAddend: 0 })
  })

  it('has descriptors with a limit, with hits, and with hits to refund', () => {
    expect(request(`${ENTRY} 12 04 08 05 10 02`).descriptors).toEqual([
      { ...PLAIN, override: { requestsPerUnit: 5, unit: 2 } },
    ])
    expect(request(`${ENTRY} 1a 00`).descriptors).toEqual([{ ...PLAIN, hitsAddend: 0 }])
    expect(request(`${ENTRY} 1a 02 08 07`).descriptors).toEqual([{ ...PLAIN, hitsAddend: 7 }])
    expect(request(`${ENTRY} 1a 0b 08 ff ff ff ff ff ff ff ff ff 01`).descriptors).toEqual([
      { ...PLAIN, hitsAddend: 2 ** 64 },
    ])
    expect(request(`${ENTRY} 20 01`).descriptors).toEqual([{ ...PLAIN, isNegativeHits: true }])
  })

  it('may have fields that are not known, of every type', () => {
    const unknown = '78 01 79 01 02 03 04 05 06 07 08 7a 01 00 7d 01 02 03 04'
    expect(request(`${ENTRY} ${unknown}`).descriptors).toEqual([PLAIN])
    expect(decodeRequest(bytes(`${unknown} ${DOMAIN}`)).domain).toBe('d')
    expect(request('0a 08 0a 01 6b 12 01 76 18 01').descriptors).toEqual([PLAIN])
  })

  it.each([
    ['ends inside of a number', '0a', 'the message ends inside of a number, or the number is too long'],
    [
      'has a number of eleven bytes',
      `18 ${'ff '.repeat(11)}`,
      'the message ends inside of a number, or the number is too long',
    ],
    ['has a part that is longer', '0a 05 64', 'a part of the message is longer than the message'],
    ['has a descriptor that is longer', '12 05 0a 01', 'a part of the message is longer than the message'],
    ['has an unknown part that is longer', '79 01', 'a part of the message is longer than the message'],
    ['has a group', '7b', 'the message has a field of the type 3'],
  ])('is refused when it %s', (_, hex, message) => {
    expect(() => decodeRequest(bytes(hex))).toThrow(new RangeError(message))
  })

  it('is read or refused, whatever the bytes are', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (random) => {
        try {
          decodeRequest(Buffer.from(random))
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError)
        }
      }),
      { numRuns: runs('formula') },
    )
  })
})

it('a response is encoded without what is empty', () => {
  const day = UNITS.find(({ name }) => name === 'day') as Unit
  const none = { isOverLimit: false, currentLimit: undefined, remaining: 0, resetSeconds: 0 }
  const over = {
    isOverLimit: true,
    currentLimit: { name: 'n', requestsPerUnit: 300, unit: day },
    remaining: 1,
    resetSeconds: 2,
  }
  const headers = [{ name: 'a', value: '' }]
  expect(encodeResponse({ isOverLimit: true, statuses: [none, over], headers })).toEqual(
    bytes('08 02 12 02 08 01 12 12 08 02 12 08 08 ac 02 10 04 1a 01 6e 18 01 22 02 08 02 1a 03 0a 01 61'),
  )
})
