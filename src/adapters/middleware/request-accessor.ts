/** Which proxies a framework trusts about `X-Forwarded-For`. */
export type ProxyTrust = 'none' | 'some' | 'all'

/** How an adapter reads a request of its framework. */
export interface RequestAccessor<Request> {
  method(request: Request): string | undefined
  /** The value of a header by its name in lower case; several lines are joined with commas. */
  header(request: Request, name: string): string | undefined
  /** The client's address, as the framework resolves it. */
  clientAddress(request: Request): string | undefined
  /** Which proxies the framework trusts about `X-Forwarded-For`. Absent: there is nothing to warn about. */
  trustsProxies?(request: Request): ProxyTrust
  /** An object that is the same for all limiters that see one request. Absent: the request. */
  identity?(request: Request): object
}
