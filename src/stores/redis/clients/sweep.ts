/** Sends one command to one server. */
export type Send = (command: readonly string[]) => Promise<unknown>

/** How many keys the server looks at for one answer: it serves others in between. */
const LOOKED_AT = '1000'

/**
 * Deletes every key of one server whose name starts with `start`, a few at a time. A key that is written meanwhile may stay.
 *
 * @param hidden what the client puts in front of a key that it deletes, and not of a name that it looks for.
 */
export async function sweep(send: Send, start: string, hidden = ''): Promise<void> {
  const pattern = `${hidden}${start}`.replace(GLOB, '\\$&')
  let cursor = '0'
  do {
    const reply = await send(['SCAN', cursor, 'MATCH', `${pattern}*`, 'COUNT', LOOKED_AT])
    const [next, names] = reply as readonly [unknown, readonly string[]]
    // One by one: on a Cluster they lie in different slots.
    await Promise.all(names.map((name) => send(['DEL', name.slice(hidden.length)])))
    cursor = `${next}`
  } while (cursor !== '0')
}

const GLOB = /[[\]*?\\^]/g
