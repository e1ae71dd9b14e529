import type { Redis } from 'ioredis'

/** What a user has to be allowed, each as a call about a key of the default prefix. */
const NEEDED: readonly (readonly [string, ...string[]])[] = [
  ['EVALSHA', 'sha1', '1', 'sluice:check'],
  ['EVAL', 'return 1', '1', 'sluice:check'],
  ['SCRIPT', 'LOAD', 'return 1'],
  ['GET', 'sluice:check'],
  ['MGET', 'sluice:check'],
  ['EXISTS', 'sluice:check'],
  ['SET', 'sluice:check', '1'],
  ['DEL', 'sluice:check'],
  ['GETRANGE', 'sluice:check', '0', '1'],
  ['SETRANGE', 'sluice:check', '0', '1'],
  ['PEXPIRE', 'sluice:check', '1'],
  ['TIME'],
]

/** The needed commands that the user of a connection may not send. Nothing is run: the server is only asked, if it can be. */
export async function findDeniedCommands(client: Redis): Promise<{ isSeen: boolean; denied: readonly string[] }> {
  try {
    const user = String(await client.call('ACL', 'WHOAMI'))
    const answers = await Promise.all(NEEDED.map((command) => client.call('ACL', 'DRYRUN', user, ...command)))
    const denied = NEEDED.filter((_, index) => answers[index] !== 'OK')
    return { isSeen: true, denied: denied.map(([name, first]) => (name === 'SCRIPT' ? `${name} ${first}` : name)) }
  } catch {
    return { isSeen: false, denied: [] }
  }
}
