/** An address as its bytes: 4 of IPv4, 16 of IPv6. */
export type Address = readonly number[]

const IPV6 = /^([\da-f:.]+)(?:%[\da-z.:-]+)?$/i
const GROUPS = 8

/** The bytes that a text stands for, or `undefined` when it is no address. The zone of an IPv6 address is left out. */
export function parseBytes(text: string): Address | undefined {
  // A pattern also takes what a framework gives instead of a text.
  return /:/.test(text) ? parseIpv6(text) : parseIpv4(`${text}`)
}

/** The one text of an address: IPv6 as RFC 5952 writes it. */
export function formatAddress(address: Address): string {
  if (address.length === 4) return address.join('.')
  const groups = Array.from({ length: GROUPS }, (_, index) => {
    return (((address[2 * index] as number) << 8) | (address[2 * index + 1] as number)).toString(16)
  })
  return shorten(groups.join(':')) as string
}

/** The address with zeros after its first `bits`. */
export function maskAddress(address: Address, bits: number): Address {
  return address.map((byte, index) => byte & (0xff << Math.min(8, Math.max(0, 8 * (index + 1) - bits))))
}

// Shorter and octal forms of IPv4 mean different addresses to different programs: only the form that comes out again is accepted.
function parseIpv4(text: string): Address | undefined {
  const bytes = text.split('.').map(Number)
  const isAddress = bytes.length === 4 && bytes.every((byte) => (byte & 0xff) === byte) && bytes.join('.') === text
  return isAddress ? bytes : undefined
}

function parseIpv6(text: string): Address | undefined {
  const [front, back = ''] = shorten(IPV6.exec(text)?.[1])?.split('::') ?? []
  if (front === undefined) return undefined
  const [left, right] = [readGroups(front), readGroups(back)]
  const zeros = Array<number>(GROUPS - left.length - right.length).fill(0)
  return [...left, ...zeros, ...right].flatMap((group) => [group >> 8, group & 0xff])
}

/** The shortest text of an IPv6 address, as every URL has it. `undefined` when it is none. */
function shorten(text: string | undefined): string | undefined {
  try {
    return new URL(`http://[${text}]`).hostname.slice(1, -1)
  } catch {
    return undefined
  }
}

function readGroups(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16))
}
