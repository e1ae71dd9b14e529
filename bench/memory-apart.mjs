import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { measure } from './memory-measure.mjs'

// A program of its own as well: what it measures then, it tells its parent.
const isChild = process.argv[1] === fileURLToPath(import.meta.url)
if (isChild) process.send(await measure(process.argv[2], process.argv[3]))

/** Measures in a process of its own: heaps, compiled code and timers of one subject never meet those of another. */
export async function measureApart(name, until = 'expired') {
  const child = fork(fileURLToPath(import.meta.url), [name, until], { execArgv: ['--expose-gc'], timeout: 90_000 })
  let result
  child.once('message', (message) => {
    result = message
    child.disconnect()
  })
  await once(child, 'exit')
  if (result === undefined) throw new Error(`${name} gave no result`)
  return result
}
