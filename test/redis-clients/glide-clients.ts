import type { ClientMaker, UnconnectedClient } from './redis-clients.ts'

/** Valkey GLIDE: a single server and a cluster. It has no Sentinel. */
export const glideClients: readonly ClientMaker[] = [
  {
    title: 'Valkey GLIDE',
    topology: 'single',
    create: async ({ single: { host, port } }) => {
      const { GlideClient } = await loadGlide()
      return unconnected(await GlideClient.createClient({ ...SETTINGS, addresses: [{ host, port }] }))
    },
  },
  {
    title: 'Valkey GLIDE cluster',
    topology: 'cluster',
    create: async ({ cluster: { nodes } }) => {
      const { GlideClusterClient } = await loadGlide()
      const addresses = nodes.map(({ host, port }) => ({ host, port }))
      return unconnected(await GlideClusterClient.createClient({ ...SETTINGS, addresses }))
    },
  },
]

/** Loads GLIDE, which is native code for one platform, only when it is used: elsewhere just its own tests fail, and say why. */
export async function loadGlide(): Promise<typeof import('@valkey/valkey-glide')> {
  try {
    const glide = await import('@valkey/valkey-glide')
    // GLIDE prints every error reply, and the tests are about these.
    glide.Logger.setLoggerConfig('off')
    return glide
  } catch (cause) {
    const platform = `${process.platform}-${process.arch}`
    throw new Error(`Valkey GLIDE does not load on ${platform}, so nothing is known of it here: ${cause}`, { cause })
  }
}

// Its own 250 ms are too short for a machine that runs every suite at once.
const SETTINGS = { lazyConnect: true, requestTimeout: 10_000 }

function unconnected(client: { customCommand(args: string[]): Promise<unknown>; close(): void }): UnconnectedClient {
  return { client, connect: () => client.customCommand(['PING']), close: async () => client.close() }
}
