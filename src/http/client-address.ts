import { invalidOption } from '../core/check.ts'
import type { LimiterError } from '../core/limiter-error.ts'
import { type Address, maskAddress, parseBytes } from './address.ts'
import { parseAddress, unwrapIpv4 } from './address-key.ts'

/**
 * Which proxies the server trusts to name the client: how many of them stand in front of this server, or the networks that they
 * are in, such as `['10.0.0.0/8', 'loopback']`. `loopback`, `linklocal` and `uniquelocal` name the usual private ones.
 */
export type TrustProxy = number | readonly string[]

/** Finds the client's address: the peer's, or what trusted proxies say in `X-Forwarded-For`, read from its end. */
export type ClientAddress = (peer: string | undefined, forwardedFor: string | undefined) => string | undefined

/** The address of a network, and how many of its first bits are the network's. */
type Network = readonly [address: Address, bits: number]

const MOST_HOPS = 100
const NETWORK = /^(.+)\/(\d{1,3})$/

const NAMED: ReadonlyMap<string, readonly string[]> = new Map([
  ['loopback', ['127.0.0.0/8', '::1/128']],
  ['linklocal', ['169.254.0.0/16', 'fe80::/10']],
  ['uniquelocal', ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7']],
])

/**
 * Makes a function that finds the client's address. Each proxy appends the address of its own peer to the header. The header is
 * therefore read from its end, and only as far as its writers are trusted: a client cannot spoof its address by sending the header.
 * Reading stops at a text that is no address.
 */
export function clientAddress(trust: TrustProxy | undefined): ClientAddress {
  if (trust === undefined) return (peer) => peer
  if (Array.isArray(trust)) {
    const networks = trust.flatMap(parseNetworks)
    return (peer, header) => findFarthest(peer, header, (text) => isInsideAny(text, networks))
  }
  const hops = trust as number
  if (!Number.isSafeInteger(hops) || hops < 1 || hops > MOST_HOPS) throw wrongTrust(trust)
  return (peer, header) => findFarthest(peer, header, (_, index) => index < hops)
}

function findFarthest(
  peer: string | undefined,
  header: string | undefined,
  isTrusted: (address: string, index: number) => boolean,
): string | undefined {
  // A server that does not know its peer is only reached through its proxies.
  if (peer !== undefined && !isTrusted(peer, 0)) return peer
  let known = peer
  const written = header === undefined ? [] : header.split(',')
  for (let index = 1; index <= written.length; index++) {
    const address = (written[written.length - index] as string).trim()
    if (parseAddress(address) === undefined) return known
    known = address
    if (!isTrusted(address, index)) return known
  }
  return known
}

function parseNetworks(text: string): readonly Network[] {
  const named = NAMED.get(text) ?? [text]
  return named.map((network) => {
    const [, address, bits] = NETWORK.exec(network) ?? []
    const written = address === undefined ? parseAddress(network) : parseBytes(address)
    if (written === undefined) throw wrongTrust(network)
    const bytes = unwrapIpv4(written)
    const most = 8 * bytes.length
    // The bits of a network of IPv4 that is written as IPv6 include those before its address.
    const own = Number(bits ?? 8 * written.length) - 8 * written.length + most
    if (own < 0 || own > most) throw wrongTrust(network)
    return [maskAddress(bytes, own), own]
  })
}

function wrongTrust(value: unknown): LimiterError {
  const rule = `a number of hops from 1 to ${MOST_HOPS}, or networks such as ['10.0.0.0/8', '::1', 'loopback']`
  return invalidOption('trustProxy', rule, value)
}

function isInsideAny(text: string, networks: readonly Network[]): boolean {
  const address = parseAddress(text)
  return address !== undefined && networks.some((network) => isInside(address, network))
}

function isInside(address: Address, [network, bits]: Network): boolean {
  if (address.length !== network.length) return false
  return maskAddress(address, bits).every((byte, index) => byte === network[index])
}
