import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')

/** Frees what is not reachable any more, so that a test can measure the memory that is. */
export const collectGarbage = runInNewContext('gc') as () => void
