import type { Clock } from '../../src/core/clock.ts'
import type { LiveReport } from '../../src/observe/live-report.ts'
import { afterAnswer, CONNECTING, type Connection, waitMs } from './connection.ts'
import type { ServiceReply } from './service-client.ts'

/** What polling needs to know. */
export interface PollingOptions {
  ask(): Promise<ServiceReply<LiveReport>>
  tell(connection: Connection): void
  /** Counts the time between two questions. */
  readonly timer: NonNullable<Clock['timer']>
}

/** Asks again and again, one question at a time, and tells every change. Returns the function that ends it. */
export function startPolling({ ask, tell, timer }: PollingOptions): () => void {
  let connection = CONNECTING
  let isOver = false
  let cancel = (): void => {}

  const turn = async (): Promise<void> => {
    const answer = await ask()
    // What comes after the end was asked with a token or for a view that is gone.
    if (isOver) return
    connection = afterAnswer(connection, answer)
    tell(connection)
    const nextMs = waitMs(connection)
    if (Number.isFinite(nextMs)) cancel = timer(nextMs, turn)
  }

  void turn()
  return () => {
    isOver = true
    cancel()
  }
}
