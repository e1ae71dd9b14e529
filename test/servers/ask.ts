import { Redis } from 'ioredis'

/** Where a server listens. */
export interface Address {
  readonly host: string
  readonly port: number
}

/** The server's reply to one command, on a connection of its own. Rejects when the server is not there; never retries. */
export async function ask({ host, port }: Address, command: string, ...args: (string | number)[]): Promise<unknown> {
  const redis = new Redis({ host, port, lazyConnect: true, enableReadyCheck: false, retryStrategy: () => null })
  // ioredis itself rejects with no more than "Connection is closed."
  let reason: unknown
  redis.on('error', (error) => {
    reason = error
  })
  try {
    await redis.connect()
    return await redis.call(command, ...args)
  } catch (error) {
    throw reason ?? error
  } finally {
    redis.disconnect()
  }
}
