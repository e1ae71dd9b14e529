import { describe, expect, it } from 'vitest'
import { addressKey } from './address-key.ts'
import { clientAddress } from './client-address.ts'
import { partitionKey } from './partition-key.ts'

describe('addressKey', () => {
  it.each([
    ['203.0.113.7', '203.0.113.7'],
    ['203.0.113.7:5678', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['::FFFF:cb00:7107', '203.0.113.7'],
    ['0:0:0:0:0:ffff:cb00:7107', '203.0.113.7'],
    ['[::ffff:203.0.113.7]:443', '203.0.113.7'],
    ['64:ff9b::203.0.113.7', '203.0.113.7'],
    ['64:ff9b::cb00:7108', '203.0.113.8'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::', '2001:db8:1:2::/64'],
    ['[2001:db8:1:2::9]:80', '2001:db8:1:2::/64'],
    ['[2001:db8:1:2::9]', '2001:db8:1:2::/64'],
    ['fe80::1%eth0', 'fe80::/64'],
    ['fe80::2%en1', 'fe80::/64'],
    ['fe80::3%br-lan', 'fe80::/64'],
    ['::203.0.113.7', '::/64'],
    ['::1', '::/64'],
  ])('%s is known as %s', (text, name) => {
    expect(addressKey(text)).toEqual({ kind: 'ip', name })
  })

  it.each([
    '',
    'unknown',
    'localhost',
    '1.2.3',
    '1.2.3.4.5',
    '256.1.1.1',
    '0x7f.1',
    '017.0.0.1',
    '1',
    '_hidden',
    ':::',
    '1.2.3.4, 5.6.7.8',
    '203.0.113.7:port',
    ' 1.2.3.4',
  ])('%j is no address', (text) => {
    expect(addressKey(text)).toBeUndefined()
  })

  it.each([
    [128, '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff/128'],
    [96, '2001:db8:ffff:ffff:ffff:ffff::/96'],
    [57, '2001:db8:ffff:ff80::/57'],
    [56, '2001:db8:ffff:ff00::/56'],
    [48, '2001:db8:ffff::/48'],
    [32, '2001:db8::/32'],
  ])('cuts IPv6 to a /%i', (ipv6Prefix, name) => {
    expect(addressKey('2001:db8:ffff:ffff:ffff:ffff:ffff:ffff', { ipv6Prefix })).toEqual({ kind: 'ip', name })
    expect(addressKey('::ffff:203.0.113.7', { ipv6Prefix })).toEqual({ kind: 'ip', name: '203.0.113.7' })
  })

  it.each([31, 129, 64.5, '64'])('refuses a prefix of %j', (ipv6Prefix) => {
    expect(() => addressKey('::1', { ipv6Prefix: ipv6Prefix as number })).toThrow(
      /^ipv6Prefix must be a whole number from 32 to 128/,
    )
  })
})

describe('clientAddress', () => {
  it('is that of the connection when no proxy is trusted', () => {
    expect(clientAddress(undefined)('10.0.0.1', '203.0.113.7')).toBe('10.0.0.1')
    expect(clientAddress(undefined)(undefined, '203.0.113.7')).toBeUndefined()
  })

  it.each<[number, string | undefined, string | undefined, string | undefined]>([
    [1, '10.0.0.1', '203.0.113.7', '203.0.113.7'],
    [1, '10.0.0.1', '6.6.6.6, 203.0.113.7', '203.0.113.7'],
    [2, '10.0.0.1', '6.6.6.6, 203.0.113.7,10.0.0.2', '203.0.113.7'],
    [2, '10.0.0.1', '203.0.113.7', '203.0.113.7'],
    [1, '10.0.0.1', undefined, '10.0.0.1'],
    [1, '10.0.0.1', '', '10.0.0.1'],
    [1, '10.0.0.1', '203.0.113.7, unknown', '10.0.0.1'],
    [2, '10.0.0.1', 'garbage, 10.0.0.2', '10.0.0.2'],
    [1, undefined, '6.6.6.6, 203.0.113.7', '203.0.113.7'],
    [1, undefined, undefined, undefined],
  ])('counts %i hops from %s behind "%s": %s', (hops, peer, header, address) => {
    expect(clientAddress(hops)(peer, header)).toBe(address)
  })

  it.each<[string[], string, string | undefined, string]>([
    [['loopback'], '127.0.0.1', '6.6.6.6, 203.0.113.7', '203.0.113.7'],
    [['loopback'], '::ffff:127.0.0.1', '203.0.113.7', '203.0.113.7'],
    [['loopback'], '198.51.100.1', '203.0.113.7', '198.51.100.1'],
    [['loopback', '10.0.0.0/8'], '::1', '6.6.6.6, 203.0.113.7, 10.9.8.7', '203.0.113.7'],
    [['uniquelocal'], '10.0.0.1', '10.0.0.3, 192.168.1.1, fd00::1', '10.0.0.3'],
    [['2001:db8::/32'], '2001:db8::1', '203.0.113.7', '203.0.113.7'],
    [['2001:db8::5', '10.0.0.1'], '2001:db8::5', '203.0.113.7, 10.0.0.1', '203.0.113.7'],
    [['10.0.0.1'], '10.0.0.2', '203.0.113.7', '10.0.0.2'],
    [['linklocal'], 'fe80::1%eth0', '203.0.113.7', '203.0.113.7'],
    [['0.0.0.0/0'], '198.51.100.1', '203.0.113.7', '203.0.113.7'],
    [['0.0.0.0/0'], '2001:db8::5', '203.0.113.7', '2001:db8::5'],
    [['10.1.2.3/31'], '10.1.2.2', '203.0.113.7', '203.0.113.7'],
    [['10.1.2.3/31'], '10.1.2.4', '203.0.113.7', '10.1.2.4'],
    [['::ffff:10.0.0.0/104'], '10.1.2.3', '203.0.113.7', '203.0.113.7'],
    [['::ffff:10.0.0.0/104'], '::ffff:10.1.2.3', '203.0.113.7', '203.0.113.7'],
    [['::ffff:a00:0/104'], '11.1.2.3', '203.0.113.7', '11.1.2.3'],
    [['::ffff:10.1.2.3/128'], '10.1.2.3', '203.0.113.7', '203.0.113.7'],
    [['::ffff:0:0/96'], '198.51.100.1', '203.0.113.7', '203.0.113.7'],
    [['::ffff:0:0/96'], '2001:db8::5', '203.0.113.7', '2001:db8::5'],
  ])('believes %s from %s behind "%s": %s', (networks, peer, header, address) => {
    expect(clientAddress(networks)(peer, header)).toBe(address)
  })

  const wrong = ['10.0.0.0/33', '::/129', '10/8', '010.0.0.0/8', '10.0.0.0/', 'localnet', 'constructor', '', 8]
  it.each([...wrong, '::ffff:10.0.0.0/8', '::ffff:10.0.0.0/95', '::ffff:10.0.0.0/129'])(
    'refuses to trust %j',
    (network) => {
      const rule = "a number of hops from 1 to 100, or networks such as ['10.0.0.0/8', '::1', 'loopback']"
      expect(() => clientAddress([network as string])).toThrow(
        `trustProxy must be ${rule}, got ${JSON.stringify(network)}`,
      )
    },
  )
})

describe('partitionKey', () => {
  it('is the same for the same subject and secret, and unlike for others', () => {
    const one = partitionKey('user:42', 'a secret of some length')
    expect(one).toMatch(/^[A-Za-z0-9+/]{16}$/)
    expect(partitionKey('user:42', 'a secret of some length')).toBe(one)
    expect(partitionKey('user:43', 'a secret of some length')).not.toBe(one)
    expect(partitionKey('user:42', 'another secret of length')).not.toBe(one)
    expect(partitionKey({ kind: 'user', name: '42' }, 'a secret of some length')).not.toBe(one)
  })
})
