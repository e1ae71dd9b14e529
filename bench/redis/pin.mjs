import { execFileSync } from 'node:child_process'
import { availableParallelism } from 'node:os'

/**
 * Runs `work` with a core for the server and another for the processes that ask it. Which cores the system chooses changes from round
 * to round, and makes more difference to a single round trip than any limiter. Where `taskset` is missing it runs anyhow.
 */
export async function withCores(serverPid, pids, work) {
  const last = availableParallelism() - 1
  if (last === 0) return work()
  setCores(serverPid, `${last}`)
  for (const pid of pids) setCores(pid, '0')
  try {
    return await work()
  } finally {
    for (const pid of [serverPid, ...pids]) setCores(pid, `0-${last}`)
  }
}

function setCores(pid, cores) {
  try {
    execFileSync('taskset', ['--all-tasks', '--pid', '--cpu-list', cores, `${pid}`], { stdio: 'ignore' })
  } catch {
    // A system without it, or a process that has just ended.
  }
}
