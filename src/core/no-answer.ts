/** Says that there was no answer in time. Its name is the one that such errors have elsewhere too: `TimeoutError`. */
export class NoAnswer extends Error {
  override readonly name = 'TimeoutError'
}

/** Whether an error, or what it was caused by, says that there was no answer in time, whatever waited for it. */
export function isNoAnswer(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return error.name === 'TimeoutError' || isNoAnswer(error.cause)
}
