import timers from 'node:timers'
import fc from 'fast-check'
import { afterAll } from 'vitest'
import { runs } from './effort.ts'

// A failed property prints its seed. `SLUICE_SEED=<seed>` starts every property from it, and so fails it again.
const { SLUICE_SEED } = process.env
fc.configureGlobal({ numRuns: runs('other'), ...(SLUICE_SEED !== undefined && { seed: Number(SLUICE_SEED) }) })

// The files of a worker share one process: with a timer that never rings, a later file would wait in vain.
afterAll(() => {
  if (globalThis.setTimeout !== timers.setTimeout) throw new Error('this file has left a setTimeout that is not real')
})
