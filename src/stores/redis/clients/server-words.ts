/**
 * What the server has said, from its code on (`OOM command not allowed …`), as far as the clients and the engines agree: Redis 6
 * wraps what goes wrong inside a script in words of its own, and a Cluster of ioredis what it has tried too often.
 */
export function serverWordsIn(message: string): string {
  return message.replace(WRAPPING, '')
}

/** What is put before an error of the server to keep a Cluster of ioredis from trying again. */
export const NOT_TRIED_AGAIN = 'not tried again by the client: '

const OF_CLIENTS = `(?:Too many Cluster redirections\\. Last error: (?:\\w*Error: )?)?(?:${NOT_TRIED_AGAIN})?`
const WRAPPING = new RegExp(
  `^${OF_CLIENTS}(?:ERR Error running script \\(call to \\w+\\): (?:@user_script: ?\\d+: )*-?)?`,
)

/**
 * Whether a Cluster did not run a command because its slot is on another server, or on its way there, and the client did not follow: it
 * may be sent again. Only the reply itself counts, not what a script quotes: that may have written before.
 */
export function isOnTheMove(error: unknown): boolean {
  return error instanceof Error && ON_THE_MOVE.test(error.message)
}

const ON_THE_MOVE = new RegExp(`^${OF_CLIENTS}(?:MOVED|ASK|TRYAGAIN) `)

/** Whether a Cluster refused a script because its keys lie in different slots: nothing has run. */
export function isCrossSlot(error: unknown): boolean {
  return findWords(error).startsWith('CROSSSLOT ')
}

/**
 * Whether a script failed before it wrote anything, for a reason that may be one key's alone: keys in different slots, a slot that is
 * on the move, a key that holds something else. Decisions that were sent together may then be sent again, each alone.
 */
export function hasDoneNothing(error: unknown): boolean {
  return NOTHING_DONE.test(findWords(error))
}

// The scripts' own words have a blank behind the name, which no key has.
const NOTHING_DONE = /^(?:CROSSSLOT|MOVED|ASK|TRYAGAIN|WRONGTYPE) |\bsluice: /

function findWords(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof Error ? serverWordsIn(cause.message) : ''
}
