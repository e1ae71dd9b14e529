import { type ChildProcess, spawn } from 'node:child_process'

/**
 * Ends `child` and removes `folder` when this process ends, or when the one that forked it does.
 * Vitest ends its workers by a signal, and no exit handler sees that: so a shell waits on a pipe from us,
 * which the system closes in every case. The shell is called off when `child` ends first.
 */
export function endWithUs(child: ChildProcess, folder: string): void {
  const guard = spawn('/bin/sh', ['-c', 'read _; rm -rf "$2"; kill -9 "$1"', 'guard', `${child.pid}`, folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // In a session of its own, so that Ctrl-C at the terminal does not end the guard before us.
    detached: true,
  })
  // One listener for all of them: Node warns of a leak from the eleventh on, and the last one must let this process end.
  if (guards.size === 0) process.once('disconnect', giveUp)
  guards.add(guard)
  child.once('exit', () => {
    guards.delete(guard)
    if (guards.size === 0) process.off('disconnect', giveUp)
    guard.kill('SIGKILL')
  })
}

const guards = new Set<ChildProcess>()

function giveUp(): void {
  for (const guard of guards) guard.stdin?.end()
}
