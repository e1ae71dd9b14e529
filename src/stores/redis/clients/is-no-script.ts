/**
 * Whether a server refused an EVALSHA because it does not hold the script: nothing has run, so it may be sent again as EVAL.
 * Only the code counts, which is how the reply begins: a script or a key may quote it anywhere else.
 */
export function isNoScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT ')
}
