import { clientAddress, type TrustProxy } from '../../http/client-address.ts'
import type { Reader } from '../gate/reader.ts'

/**
 * How a reader finds the client's address, where `peer` tells who is connected and some proxies may be believed. Networks of proxies
 * are believed only of a peer that is known to be in them.
 */
export function proxied<Request>(
  trustProxy: TrustProxy | undefined,
  header: Reader<Request>['header'],
  peer: (request: Request) => string | null | undefined,
): Required<Pick<Reader<Request>, 'address' | 'trust'>> {
  const find = clientAddress(trustProxy)
  const isByNetwork = typeof trustProxy === 'object'
  const forwarded = (request: Request): string | undefined => header(request, 'x-forwarded-for')
  const address = (request: Request): string | undefined => {
    const connected = peer(request) ?? undefined
    if (trustProxy === undefined) return connected
    return connected === undefined && isByNetwork ? undefined : find(connected, forwarded(request))
  }
  return {
    address,
    trust(request) {
      if (trustProxy !== undefined) return 'some'
      // A runtime that answers with what its own proxy has written knows the client.
      const written = forwarded(request)
        ?.split(',')
        .map((text) => text.trim())
      return written?.includes(address(request) as string) ? 'some' : 'nobody'
    },
  }
}
