import { fileURLToPath } from 'node:url'
import { startCrew } from '../crew.mjs'
import { serverLoad } from '../redis/server-load.mjs'

const WORKER = fileURLToPath(new URL('./worker.mjs', import.meta.url))

/** A crew of processes that ask about limits with `prefetch` or without, each of a `build`. Rounds say what the server did. */
export function openCrew(server, members) {
  for (const member of members) member.port = server.port
  return startCrew(WORKER, members, (work) => serverLoad(server.redis, work))
}
