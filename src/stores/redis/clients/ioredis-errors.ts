import { describeError } from '../../../core/describe-error.ts'
import { logWarning } from '../../../core/explain-hint.ts'
import { isKeptOut } from './client-trouble.ts'

/** As much of a client as reports its errors. */
interface Emitter {
  on(event: 'error' | 'ready', listener: (error: unknown) => void): unknown
  listenerCount(event: 'error'): number
}

/**
 * Listens to the errors of a client. Without a listener ioredis prints one with its stack at each try to connect; this one warns once until
 * the client is ready again. It is silent where the application listens, and about a server that does not let the client in: the limiter
 * reports that as STORE_DENIED.
 */
export function listenToErrors(client: object): void {
  const emitter = client as Emitter
  let isWarned = false
  emitter.on('ready', () => {
    isWarned = false
  })
  emitter.on('error', (error) => {
    if (isWarned || isKeptOut(error) || emitter.listenerCount('error') > 1) return
    isWarned = true
    const message = `the Redis client failed: ${describeError(error)}. Listen to its errors with client.on('error', …)`
    logWarning(message, 'CLIENT_ERROR')
  })
}
