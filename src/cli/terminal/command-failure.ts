/** How a command ends. */
export const EXIT = {
  done: 0,
  /** It was asked correctly and did not succeed: Redis is away, a check found a difference. */
  failed: 1,
  /** It was asked wrongly: an unknown option, a bad rule, a file of policies with a mistake. Nothing was done. */
  wrong: 2,
} as const

/** Ends a command with a message for people and an exit code for programs. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure'
  readonly exitCode: number

  constructor(message: string, exitCode: number = EXIT.failed, options?: ErrorOptions) {
    super(message, options)
    this.exitCode = exitCode
  }
}

/** Ends a command that was asked wrongly. */
export class UsageError extends CommandFailure {
  constructor(message: string, options?: ErrorOptions) {
    super(message, EXIT.wrong, options)
  }
}
