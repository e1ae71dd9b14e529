import { describeError } from '../../../core/describe-error.ts'
import { logWarning } from '../../../core/explain-hint.ts'

/** As much of a client as reports its errors. */
interface Emitter {
  on(event: 'error' | 'ready', listener: (error: unknown) => void): unknown
  listenerCount(event: 'error'): number
}

/**
 * Listens to the errors of a client once, whatever the number of stores on it. Without a listener ioredis prints one with its stack at each
 * try to connect; this one warns once until the client is ready again, and not where the application listens.
 */
export function listenToErrors(client: object): void {
  if (LISTENING.has(client)) return
  LISTENING.add(client)
  const emitter = client as Emitter
  let isWarned = false
  emitter.on('ready', () => {
    isWarned = false
  })
  emitter.on('error', (error) => {
    if (isWarned || emitter.listenerCount('error') > 1) return
    isWarned = true
    const message = `the Redis client reports "${describeError(error)}", and the application does not listen to its errors`
    logWarning(message, 'CLIENT_ERROR')
  })
}

const LISTENING = new WeakSet<object>()
