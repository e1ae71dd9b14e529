import { clientAddress, type TrustProxy } from '../../http/client-address.ts'
import type { RequestAccessor } from '../middleware/request-accessor.ts'

/**
 * Makes the part of an accessor that finds the client's address, where `readPeer` reads the peer's and some proxies may be trusted.
 * A network of proxies is trusted only when the peer is known to be in it.
 */
export function createAddressAccessor<Request>(
  trustProxy: TrustProxy | undefined,
  header: RequestAccessor<Request>['header'],
  readPeer: (request: Request) => string | null | undefined,
): Required<Pick<RequestAccessor<Request>, 'clientAddress' | 'trustsProxies'>> {
  const find = clientAddress(trustProxy)
  const isByNetwork = typeof trustProxy === 'object'
  const readForwarded = (request: Request): string | undefined => header(request, 'x-forwarded-for')
  const readClient = (request: Request): string | undefined => {
    const peer = readPeer(request) ?? undefined
    if (trustProxy === undefined) return peer
    return peer === undefined && isByNetwork ? undefined : find(peer, readForwarded(request))
  }
  return {
    clientAddress: readClient,
    trustsProxies(request) {
      if (trustProxy !== undefined) return 'some'
      // A runtime that returns an address from the header, written by its own proxy, knows the client.
      const written = readForwarded(request)?.split(',')
      const client = readClient(request)
      return written?.some((text) => text.trim() === client) ? 'some' : 'none'
    },
  }
}
