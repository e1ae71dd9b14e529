import ipaddr from 'ipaddr.js'
import { wholeNumber } from '../core/check.ts'
import type { Subject } from '../core/key.ts'

/** How addresses become keys. */
export interface AddressKeyOptions {
  /**
   * How many bits of an IPv6 address name the client, 32 to 128. A subscriber has at least a /64 to choose addresses from;
   * networks of homes and offices often have a /56.
   * @default 64
   */
  readonly ipv6Prefix?: number
}

type Address = ipaddr.IPv4 | ipaddr.IPv6

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
  return {
    kind: 'ip',
    name: address.kind() === 'ipv4' ? address.toString() : maskNetwork(address as ipaddr.IPv6, bits),
  }
}

/** The address as its bytes, without a port; IPv4 that is written as IPv6 is IPv4. `undefined` when the text is no address. */
export function parseAddress(given: string): Address | undefined {
  const text = removePort(given)
  // Shorter and octal forms of IPv4 mean different addresses to different programs: none of them is accepted.
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text)
  if (!ipaddr.IPv6.isValid(text)) return undefined
  const address = ipaddr.IPv6.parse(text)
  if (address.isIPv4MappedAddress()) return address.toIPv4Address()
  // Behind a translator from IPv4 to IPv6 all IPv4 clients come from this one prefix.
  return address.range() === 'rfc6052' ? new ipaddr.IPv4(address.toByteArray().slice(12)) : address
}

// Some proxies write the client's port too, which is another one with every connection.
function removePort(text: string): string {
  const [, inBrackets, beforePort] = /^(?:\[([^\]]*)\](?::\d+)?|([\d.]+):\d+)$/.exec(text) ?? []
  return inBrackets ?? beforePort ?? text
}

function maskNetwork({ parts }: ipaddr.IPv6, bits: number): string {
  const masked = parts.map((part, index) => part & (0xffff << Math.min(16, Math.max(0, 16 * (index + 1) - bits))))
  return `${new ipaddr.IPv6(masked)}/${bits}`
}
