/** Whether there is a process of that number, which may be another one than long ago. */
export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
