/** An address as its bytes: 4 of IPv4, 16 of IPv6. */
export type Address = readonly number[]

const IPV4 = /^(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})$/
const IPV6 = /^([\da-f:]*:)([\da-f]{0,4}|[\d.]+)(?:%[\da-z.:-]+)?$/i
const GROUPS = 8

/** The bytes that a text stands for, or `undefined` when it is no address. The zone of an IPv6 address is left out. */
export function parseBytes(text: string): Address | undefined {
  // A pattern also takes what a framework gives instead of a text.
  return /:/.test(text) ? parseIpv6(text) : parseIpv4(text)
}

/** The one text of an address: IPv6 as RFC 5952 writes it. */
export function formatAddress(address: Address): string {
  if (address.length === 4) return address.join('.')
  const groups = Array.from({ length: GROUPS }, (_, index) => readGroup(address, index).toString(16))
  const text = groups.join(':')
  const zeros = text.match(/\b0(?::0)+\b/g) ?? []
  const longest = zeros.reduce((most, run) => (run.length > most.length ? run : most), '')
  if (longest === '') return text
  const at = text.search(new RegExp(`\\b${longest}\\b`))
  return `${text.slice(0, at).replace(/:$/, '')}::${text.slice(at + longest.length).replace(/^:/, '')}`
}

/** The address with zeros after its first `bits`. */
export function maskAddress(address: Address, bits: number): Address {
  return address.map((byte, index) => byte & (0xff << Math.min(8, Math.max(0, 8 * (index + 1) - bits))))
}

// Shorter and octal forms of IPv4 mean different addresses to different programs: none of them is accepted.
function parseIpv4(text: string): Address | undefined {
  const bytes = IPV4.exec(text)?.slice(1).map(Number)
  return bytes?.every((byte) => byte <= 255) ? bytes : undefined
}

function parseIpv6(text: string): Address | undefined {
  const [, front = '', last = ''] = IPV6.exec(text) ?? []
  const isDotted = last.includes('.')
  const dotted = isDotted ? parseIpv4(last) : []
  // A dotted end stands where two groups would.
  const [before = '', after, ...others] = (isDotted ? `${front}0:0` : front + last).split('::')
  const left = readGroups(before)
  const right = readGroups(after ?? '')
  if (dotted === undefined || left === undefined || right === undefined || others.length > 0) return undefined
  const missing = GROUPS - left.length - right.length
  if (after === undefined ? missing !== 0 : missing < 1) return undefined
  const groups = [...left, ...Array<number>(missing).fill(0), ...right]
  const bytes = groups.flatMap((group) => [group >> 8, group & 0xff])
  return [...bytes.slice(0, bytes.length - dotted.length), ...dotted]
}

function readGroups(text: string): number[] | undefined {
  if (text === '') return []
  const groups = text.split(':')
  return groups.every((group) => /^[\da-f]{1,4}$/i.test(group))
    ? groups.map((group) => Number.parseInt(group, 16))
    : undefined
}

function readGroup(address: Address, index: number): number {
  return ((address[2 * index] as number) << 8) | (address[2 * index + 1] as number)
}
