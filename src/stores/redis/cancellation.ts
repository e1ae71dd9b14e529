import type { Reply } from '../../core/store.ts'

/** What can be withdrawn. */
interface Withdrawable {
  withdraw(reason: Error): void
}

/** Withdraws the commands of some decisions when the callers of all of them have given up. */
export class Cancellation {
  /** Why no caller waits any more; absent while one does. */
  reason: Error | undefined = undefined
  #waiting = 0
  readonly #commands: Withdrawable[] = []

  /** Another caller waits. */
  join(reply: Reply): void {
    this.#waiting++
    this.reason = undefined
    reply.onTimeout?.(this.#leave)
  }

  /** Another command is on its way. */
  add(command: Withdrawable): void {
    this.#commands.push(command)
  }

  readonly #leave = (reason: Error): void => {
    this.#waiting--
    if (this.#waiting > 0) return
    this.reason = reason
    for (const command of this.#commands) command.withdraw(reason)
  }
}
