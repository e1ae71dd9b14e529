/** Whether a Cluster refused a script because its keys lie in different slots: nothing has run. */
export function isCrossSlot(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof Error && cause.message.startsWith('CROSSSLOT ')
}
