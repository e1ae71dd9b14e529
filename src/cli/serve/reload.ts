import { type Policies, readPolicies } from '../../policies/read-policies.ts'
import type { Service } from '../../service/service.ts'
import { readPoliciesFile } from '../command/policies-file.ts'
import { DEMO_POLICIES } from './demo-policies.ts'
import type { ServeLog } from './log.ts'
import { watchFile } from './watch-file.ts'

/** The policies of a file or, where none is named, some to try things out with. */
export async function readServedPolicies(file: string | undefined): Promise<Policies> {
  return file === undefined ? readPolicies(DEMO_POLICIES, 'demo') : readPoliciesFile(file)
}

/**
 * Calls `reload` on SIGHUP and, when it is to watch, whenever one of the files has changed. Returns the function that stops it.
 *
 * @param reload must not reject.
 */
export function keepReloading(files: readonly string[], isWatching: boolean, reload: () => Promise<void>): () => void {
  // One after another: what was read last must be what is in force.
  let last = Promise.resolve()
  const reloadNext = (): void => {
    last = last.then(reload)
  }
  process.on('SIGHUP', reloadNext)
  const stops = isWatching ? files.map((file) => watchFile(file, reloadNext)) : []
  return () => {
    process.off('SIGHUP', reloadNext)
    for (const stop of stops) stop()
  }
}

/** Reads the policies again. The log reports policies with a mistake, which leave those in force that are. */
export async function reloadPolicies(service: Service, file: string, log: ServeLog): Promise<void> {
  try {
    service.reload(await readPoliciesFile(file))
    log.reloaded(file, service.limiters())
  } catch (error) {
    const reason = (error as Error).message
    service.reloadFailed(reason)
    log.reloadFailed(file, reason)
  }
}
