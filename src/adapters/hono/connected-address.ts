import type { Context } from 'hono'

/** What the servers that Hono runs on give to it beside the request, as far as it tells who is connected. */
interface Bindings {
  /** @hono/node-server. */
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: string } }
  /** Deno. */
  readonly remoteAddr?: { readonly hostname?: string }
  /** Bun. */
  requestIP?(request: unknown): { readonly address: string } | null
}

/**
 * The address of who is connected, as the server tells it that Hono runs on: Node, Bun, Deno or Workers. Never what a header says,
 * but for Workers, where Cloudflare itself writes the header. `undefined` when none of them answers.
 */
export function connectedAddress({ env, req }: Context): string | undefined {
  const { raw } = req
  // First, for in Workers the bindings are the application's own and may have any name.
  if ((raw as { cf?: unknown }).cf !== undefined) return raw.headers.get('cf-connecting-ip') ?? undefined
  const given = (env ?? {}) as Bindings & { readonly server?: Bindings }
  const server = given.server ?? given
  return server.incoming?.socket?.remoteAddress ?? server.remoteAddr?.hostname ?? server.requestIP?.(raw)?.address
}
