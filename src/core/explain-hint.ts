/** The message with the command that explains its code. */
export function addExplainHint(message: string, code: string): string {
  return `${message} (npx sluice explain ${code})`
}

/** Logs a warning to the console, with the command that explains its code. */
export function logWarning(message: string, code: string): void {
  // biome-ignore lint/suspicious/noConsole: the application has no listener, and a person has to see it.
  console.warn(`sluice: ${addExplainHint(message, code)}`)
}
