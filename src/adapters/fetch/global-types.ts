/** The shape of a `Request`, for projects without its types. */
export interface RequestLike {
  readonly method: string
  readonly url: string
  readonly headers: { get(name: string): string | null }
}

/** The shape of a `Response`, for projects without its types. */
export interface ResponseLike {
  readonly status: number
  readonly headers: { get(name: string): string | null }
}

// By what `fetch` takes and gives: only there all types of runtimes name the global ones, and a project can write them down again.
type Fetch<Input, Output> = { fetch: (input: Input, ...rest: never[]) => Promise<Output> }

/** A `Request`, by the types of Node, of the browser or of the runtime, where a project has them. */
export type FetchRequest =
  typeof globalThis extends Fetch<infer Input, unknown> ? Extract<Input, { readonly method: string }> : RequestLike

/** A `Response`, by the types of Node, of the browser or of the runtime, where a project has them. */
export type FetchResponse = typeof globalThis extends Fetch<never, infer Output> ? Output : ResponseLike
