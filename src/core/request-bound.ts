/**
 * Whether a timer and a connection end with the request that started them, as in Cloudflare's Workers. Requests may then share what they
 * know, but none may wait for what another has started.
 */
export function isRequestBound(): boolean {
  return (globalThis as { navigator?: { userAgent?: string } }).navigator?.userAgent === 'Cloudflare-Workers'
}
