/** What people are told of an error, whatever was thrown. */
export function describeError(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
