/**
 * What the server has said, from its code on (`OOM command not allowed …`), as far as the clients and the engines agree: Redis 6
 * wraps what goes wrong inside a script in words of its own, and a Cluster of ioredis what it has tried too often.
 */
export function serverWordsIn(message: string): string {
  return message.replace(WRAPPING, '')
}

const WRAPPING =
  /^(?:Too many Cluster redirections\. Last error: (?:\w*Error: )?)?(?:ERR Error running script \(call to \w+\): (?:@user_script: ?\d+: )*-?)?/

/** Whether a Cluster refused a script because its keys lie in different slots: nothing has run. */
export function isCrossSlot(error: unknown): boolean {
  return wordsOf(error).startsWith('CROSSSLOT ')
}

/**
 * Whether a script failed before it wrote anything, for a reason that may be one key's alone: keys in different slots, a slot that is
 * on the move, a key that holds something else. Decisions that were sent together may then be sent again, each by itself.
 */
export function hasDoneNothing(error: unknown): boolean {
  return NOTHING_DONE.test(wordsOf(error))
}

// The scripts' own words have a blank behind the name, which no key has.
const NOTHING_DONE = /^(?:CROSSSLOT|TRYAGAIN|WRONGTYPE) |\bsluice: /

function wordsOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof Error ? serverWordsIn(cause.message) : ''
}
