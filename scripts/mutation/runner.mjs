import { inject, TestRunner } from 'vitest'

// What the instrumented code reads: the change that is active, and how often it may be reached.
globalThis.__stryker__ ??= {}
const switches = globalThis.__stryker__
/** The changes that some test has noticed. All files of tests share it. */
switches.noticed ??= new Set(inject('noticed'))
/** The tests that have met all their changes in an earlier pass. */
const done = new Set(inject('done'))

/**
 * Calls a test once as it is and, unless that takes too long in this pass, once for every change that it reaches and that no test has
 * noticed before.
 */
// biome-ignore lint/style/noDefaultExport: Vitest takes the runner from there.
export default class MutationRunner extends TestRunner {
  async runTask(test) {
    const found = { reached: [], killed: [], timedOut: [] }
    test.meta.mutation = { found, isDone: true }
    if (done.has(test.id)) return
    const call = TestRunner.getTestFn(test)
    const reached = await reachedBy(call)
    found.reached.push(...reached.keys())
    const left = [...reached].filter(([id]) => !switches.noticed.has(id))
    // Called again, because a test that fails the second time would notice everything.
    if (left.length > 0 && (await timeOf(call)) > inject('mostMs')) {
      test.meta.mutation.isDone = false
      return
    }
    for (const [id, times] of left) {
      const failure = await failureOf(call, id, times)
      if (failure === undefined) continue
      switches.noticed.add(id)
      found[isEndless(failure) ? 'timedOut' : 'killed'].push(id)
    }
  }
}

/** How often a test reaches each change. */
async function reachedBy(call) {
  const reached = new Map()
  switches.reached = reached
  await call()
  switches.reached = undefined
  return reached
}

async function timeOf(call) {
  const startedMs = performance.now()
  await call()
  return performance.now() - startedMs
}

async function failureOf(call, id, times) {
  switches.activeMutant = id
  switches.hitCount = 0
  switches.hitLimit = 10_000 + 10 * times
  try {
    await call()
  } catch (error) {
    return error
  } finally {
    switches.activeMutant = undefined
  }
}

function isEndless(failure) {
  return /Hit count limit|timed out/.test(String(failure))
}
