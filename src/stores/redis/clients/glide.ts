import { serverWords } from './glide-error.ts'
import { hasMethods } from './has-methods.ts'
import { clientClosed } from './not-connected.ts'
import type { RedisConnection } from './redis-connection.ts'
import { sweep } from './sweep.ts'

/** A client of Valkey GLIDE, for one server with its replicas or for a cluster. */
export interface GlideLike {
  customCommand(args: string[], options?: GlideOptions): Promise<unknown>
}

interface GlideOptions {
  readonly decoder: 1
  readonly route?: 'allPrimaries' | { readonly type: 'primarySlotKey'; readonly key: string }
}

/** Tells a client by the one method through which it sends any command. */
export function isGlide(client: unknown): client is GlideLike {
  return hasMethods(client, 'customCommand')
}

/** Sends through GLIDE, which follows redirections, and gives its errors the words of the server back. */
export function glideConnection(client: GlideLike): RedisConnection {
  return hasMethods(client, 'fcallWithRoute') ? clusterConnection(client) : singleConnection(client)
}

function singleConnection(client: GlideLike): RedisConnection {
  return {
    send: (_key, command) => client.customCommand(command as string[], AS_TEXT).catch(rethrow),
    sendToAll: (command) => client.customCommand(command as string[], AS_TEXT).catch(rethrow),
    sweep: (start) => sweep((command) => client.customCommand(command as string[], AS_TEXT).catch(rethrow), start),
  }
}

function clusterConnection(client: GlideLike): RedisConnection {
  return {
    isCluster: true,
    // It tries again for longer than its own time.
    keepsKeysApart: true,
    send: (key, command) => {
      const route = { type: 'primarySlotKey', key } as const
      return client.customCommand(command as string[], { decoder: TEXT, route }).catch(rethrow)
    },
    sendToAll: (command) => client.customCommand(command as string[], TO_ALL_PRIMARIES).catch(rethrow),
  }
}

function rethrow(error: Error): never {
  if (error.name === 'ClosingError' && error.message.startsWith('Unable to execute')) throw clientClosed(error)
  const words = serverWords(error.message)
  throw words === undefined ? error : new Error(words, { cause: error })
}

// The value of GLIDE's Decoder.String: without it, replies are as the client's own default says.
const TEXT = 1
const AS_TEXT: GlideOptions = { decoder: TEXT }
const TO_ALL_PRIMARIES: GlideOptions = { decoder: TEXT, route: 'allPrimaries' }
