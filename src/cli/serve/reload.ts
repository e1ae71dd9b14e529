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
 * Reads the policies anew on SIGHUP and, when it is to watch, whenever the file has changed. The log reports policies with a mistake, which leave
 * those in force that are. Returns the function that stops it.
 */
export function keepReloading(service: Service, file: string, isWatching: boolean, log: ServeLog): () => void {
  // One after another: what was read last must be what is in force.
  let last = Promise.resolve()
  const reload = (): void => {
    last = last.then(() => reloadOnce(service, file, log))
  }
  process.on('SIGHUP', reload)
  const stop = isWatching ? watchFile(file, reload) : () => {}
  return () => {
    process.off('SIGHUP', reload)
    stop()
  }
}

async function reloadOnce(service: Service, file: string, log: ServeLog): Promise<void> {
  try {
    service.reload(await readPoliciesFile(file))
    log.reloaded(file, service.limiters())
  } catch (error) {
    const reason = (error as Error).message
    service.reloadFailed(reason)
    log.reloadFailed(file, reason)
  }
}
