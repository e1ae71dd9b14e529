import type { Context } from 'hono'

/** The parts of a server's bindings that have the address of the peer. */
interface Bindings {
  /** @hono/node-server. */
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: string } }
  /** Deno. */
  readonly remoteAddr?: { readonly hostname?: string }
  /** Bun. */
  requestIP?(request: unknown): { readonly address: string } | null
}

/**
 * Reads the address of the peer from the server that Hono runs on: Node, Bun, Deno or Workers. It never reads a header, but for
 * Workers, where Cloudflare itself writes the header. `undefined` on other servers.
 */
export function readPeerAddress({ env, req }: Context): string | undefined {
  const { raw } = req
  // First: in Workers the bindings are the application's own and may have any name.
  if ((raw as { cf?: unknown }).cf !== undefined) return raw.headers.get('cf-connecting-ip') ?? undefined
  const given = (env ?? {}) as Bindings & { readonly server?: Bindings }
  const server = given.server ?? given
  return server.incoming?.socket?.remoteAddress ?? server.remoteAddr?.hostname ?? server.requestIP?.(raw)?.address
}
