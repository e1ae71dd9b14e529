import { wholeNumber } from '../core/check.ts'
import type { Subject } from '../core/key.ts'
import { type Address, formatAddress, maskAddress, parseBytes } from './address.ts'

/** How addresses become keys. */
export interface AddressKeyOptions {
  /**
   * How many bits of an IPv6 address name the client, 32 to 128. A subscriber has at least a /64 to choose addresses from;
   * networks of homes and offices often have a /56.
   * @default 64
   */
  readonly ipv6Prefix?: number
}

// What comes before an IPv4 address that is written as IPv6: as a socket of both writes it, and as a translator from IPv4 to IPv6
// does (RFC 6052), behind which all IPv4 clients come from this one prefix.
const BEFORE_IPV4 = ['0,0,0,0,0,0,0,0,0,0,255,255', '0,100,255,155,0,0,0,0,0,0,0,0']

/**
 * The client that an address belongs to, or `undefined` when the text is no address. IPv4 written as IPv6 is its IPv4; any
 * other IPv6 address is cut to its prefix; a zone or a port is left out. The same client has one key, however its address is written.
 *
 * `203.0.113.7` and `::ffff:cb00:7107` → `203.0.113.7` · `2001:DB8::1%eth0` → `2001:db8::/64`
 */
export function addressKey(text: string, { ipv6Prefix = 64 }: AddressKeyOptions = {}): Subject | undefined {
  const address = parseAddress(text)
  if (address === undefined) return undefined
  const bits = wholeNumber('ipv6Prefix', ipv6Prefix, 32, 128)
  const isIpv4 = address.length === 4
  return { kind: 'ip', name: isIpv4 ? formatAddress(address) : `${formatAddress(maskAddress(address, bits))}/${bits}` }
}

/** The address as its bytes, without a port; IPv4 that is written as IPv6 is IPv4. `undefined` when the text is no address. */
export function parseAddress(given: string): Address | undefined {
  const bytes = parseBytes(removePort(given))
  return bytes && unwrapIpv4(bytes)
}

/** The address, as IPv4 where that is written as IPv6. */
export function unwrapIpv4(address: Address): Address {
  return BEFORE_IPV4.includes(address.slice(0, 12).join()) ? address.slice(12) : address
}

// Some proxies write the client's port too, which is another one with every connection.
function removePort(text: string): string {
  const [, inBrackets, beforePort] = /^(?:\[([^\]]*)\](?::\d+)?|([\d.]+):\d+)$/.exec(text) ?? []
  return inBrackets ?? beforePort ?? text
}
