import { fileURLToPath } from 'node:url'
import { startCrew } from '../crew.mjs'
import { serverLoad } from './server-load.mjs'

const WORKER = fileURLToPath(new URL('./worker.mjs', import.meta.url))

/** A crew whose members are a `subjectName`, with `autoPipelining` or without, of a `build`. Results say what the server did. */
export function openCrew(server, members) {
  for (const member of members) member.port = server.port
  return startCrew(WORKER, members, (work) => serverLoad(server.redis, work))
}

export const perSecond = ({ decided, seconds }) => decided / seconds
