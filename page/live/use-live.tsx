import { useEffect, useState } from 'preact/hooks'
import { CONNECTING, type Connection } from './connection.ts'
import { startPolling } from './polling.ts'
import { ServiceClient } from './service-client.ts'

/** The service that the page came from. */
export const service: ServiceClient = new ServiceClient()

/** What the service reports, every second, for as long as the view is open. Starts anew with another token. */
export function useLive(token: string | undefined): Connection {
  const [connection, setConnection] = useState(CONNECTING)
  useEffect(
    () =>
      startPolling({
        ask: () => service.live(token),
        tell: setConnection,
        timer: (afterMs, ring) => {
          const timeout = setTimeout(ring, afterMs)
          return () => clearTimeout(timeout)
        },
      }),
    [token],
  )
  return connection
}
