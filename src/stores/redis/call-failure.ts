import { LimiterError } from '../../core/limiter-error.ts'
import { serverWordsIn } from './clients/server-words.ts'

/**
 * The error of a call to Redis that failed: `FOREIGN_KEY` when one of its keys holds something else, `STORE_DENIED` when the
 * server does not let us do it, now or later, and otherwise `STORE_FAILED`.
 *
 * @param what did not happen: `Redis did not decide by fixed-window`.
 * @param keys those that the call was about, by their names on the server.
 */
export function callFailure(what: string, cause: unknown, keys: readonly string[] = []): LimiterError {
  if (cause instanceof LimiterError) return cause
  const said = cause instanceof Error ? cause.message || cause.name : String(cause)
  const words = serverWordsIn(said)
  if (FOREIGN_KEY.test(words)) return foreignKey(what, keys, cause)
  const denial = hintFor(words, DENIALS)
  if (denial !== undefined) return new LimiterError('STORE_DENIED', `${what}: ${denial} (${said})`, { cause })
  const hint = hintFor(words, FAILURES)
  return new LimiterError('STORE_FAILED', `${what}: ${hint === undefined ? said : `${hint} (${said})`}`, { cause })
}

// What the scripts say of a key of the right type, and of an id's key.
const FOREIGN_KEY = /^WRONGTYPE |\bsluice: (?:the|a) key (?:of the id )?holds something else /

/** Says that one of the keys holds something else. The message has their whole names, however long: you have to look for them. */
export function foreignKey(what: string, keys: readonly string[], cause: unknown): LimiterError {
  const names = keys.map((key) => JSON.stringify(key)).join(', ')
  const which = keys.length === 1 ? `the key ${names}` : `one of the keys ${names}`
  const rule = 'holds a value that Sluice has not written'
  const why = cause instanceof Error ? cause.message : String(cause)
  const message = `${what}: ${which} ${rule}. Delete it, or set another prefix; it is unchanged (${why})`
  return new LimiterError('FOREIGN_KEY', message, { cause })
}

type Hint = readonly [RegExp, string]

// Nothing of this ends by waiting.
const DENIALS: readonly Hint[] = [
  [/^NOAUTH /, 'the server needs a password. Set it in the client'],
  [
    /^WRONGPASS |^ERR (?:AUTH |invalid password|Client sent AUTH)/,
    'the server rejects the user or the password. Correct them in the client',
  ],
  [/^NOPERM .*\bcommand/, 'the user may not send this command. Grant it'],
  [/^NOPERM /, 'the user may not use these keys. Grant them'],
  [
    /^(?:ERR )?(?:ACL failure in script|The user executing the script can't)/,
    'the user may not send a command of the script. Grant it',
  ],
  [
    /^(?:ERR )?unknown (?:Redis )?command/i,
    'the server has renamed or disabled a command that Sluice needs. Enable it',
  ],
]

const FAILURES: readonly Hint[] = [
  [/^READONLY /, 'the server is a replica and takes no writes. Connect to the primary'],
  [/^LOADING /, 'the server has started and is still loading its data'],
  [/^MASTERDOWN /, 'the server is a replica that has lost its primary'],
  [/^CLUSTERDOWN /, 'the cluster does not serve this slot now'],
  [/^(?:MOVED|ASK|TRYAGAIN) /, 'the slot has moved to another server, and the client did not follow'],
  [/^OOM /, "the server's memory is full. Raise maxmemory"],
  [/^BUSY /, 'a script blocks the server. SCRIPT KILL ends it'],
  [/^MISCONF /, 'the server cannot save to its disk and takes no writes'],
  [/^NOREPLICAS /, 'the server has too few replicas and takes no writes'],
  [/^ERR max number of clients/, 'the server takes no more connections. Raise maxclients'],
]

function hintFor(words: string, hints: readonly Hint[]): string | undefined {
  return hints.find(([pattern]) => pattern.test(words))?.[1]
}
