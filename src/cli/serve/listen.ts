import type { ListeningAddress } from '../../service/server/http-server.ts'
import type { Service } from '../../service/service.ts'
import { CommandFailure, UsageError } from '../terminal/command-failure.ts'

/** Where to listen without --port. */
const DEFAULT_PORT = 8_080

/** Listens on the port of --port. Without --port, listens on the default port or, where that is taken, on any free one. */
export async function listenOn(service: Service, host: string, port: number | undefined): Promise<ListeningAddress> {
  try {
    return await service.listen(host, port ?? DEFAULT_PORT)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE' && port === undefined) return service.listen(host, 0)
    if (code === 'EADDRINUSE')
      throw new CommandFailure(
        `port ${port} of ${host} is in use. Choose another with --port; --port 0 takes a free one`,
      )
    if (code === 'EADDRNOTAVAIL') throw new UsageError(`${host} is not an address of this machine`)
    throw new CommandFailure(`cannot listen on port ${port ?? DEFAULT_PORT} of ${host}: ${message}`)
  }
}
