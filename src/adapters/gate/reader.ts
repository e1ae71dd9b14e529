/** How an adapter reads a request of its framework. */
export interface Reader<Request> {
  method(request: Request): string | undefined
  /** The value of a header by its name in small letters; of several lines, joined with commas. */
  header(request: Request, name: string): string | undefined
  /** The client's address as the framework answers for it. */
  address(request: Request): string | undefined
  /** Whom that answer believes about `X-Forwarded-For`: nobody, some proxies, or everybody. Absent: nobody needs a warning. */
  trust?(request: Request): 'nobody' | 'some' | 'everybody'
  /** What is the same for all limiters that see a request. Absent: the request. */
  identity?(request: Request): object
}
