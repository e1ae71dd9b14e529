import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { number } from '../report.mjs'

const WORKER = fileURLToPath(new URL('./memory-worker.mjs', import.meta.url))
const SUBJECTS = ['sluice slidingWindow', 'a bare Map']

/** What a decision takes in memory by how many keys there are, of our store and of a bare map: `[{ name, steps: [{ size, nsEach }] }]`. */
export async function memoryGrowth(quick, progress) {
  const task = quick
    ? { sizes: [1_000, 10_000, 100_000], decisions: 50_000, rounds: 1 }
    : { sizes: [1_000, 10_000, 100_000, 1_000_000, 10_000_000], decisions: 200_000, rounds: 5 }
  const results = []
  for (const name of SUBJECTS) {
    progress(`${name} in memory`)
    results.push({ name, steps: await grow({ subjectName: name, ...task }, progress) })
  }
  return results
}

async function grow(task, progress) {
  const worker = fork(WORKER, [JSON.stringify(task)], { execArgv: ['--max-old-space-size=12288'] })
  const steps = []
  worker.on('message', (step) => {
    progress(`${task.subjectName} in memory: ${number(step.size)} keys`)
    steps.push(step)
  })
  const [code] = await once(worker, 'exit')
  if (code !== 0) throw new Error(`${task.subjectName} ended with ${code}`)
  return steps
}
