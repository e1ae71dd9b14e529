/**
 * From now on keeps account of timers that code in files whose path contains `path` starts, also of those that would not keep
 * the process alive. The function says how many have neither rung nor been cancelled.
 */
export function countTimers(path) {
  const running = new Set()
  const { setTimeout: start, clearTimeout: cancel, setInterval: startMany, clearInterval: cancelMany } = globalThis
  const isTheirs = () => new Error().stack.includes(path)
  globalThis.setTimeout = (ring, ms, ...args) => {
    const timer = start(() => {
      running.delete(timer)
      ring(...args)
    }, ms)
    if (isTheirs()) running.add(timer)
    return timer
  }
  globalThis.setInterval = (...given) => {
    const timer = startMany(...given)
    if (isTheirs()) running.add(timer)
    return timer
  }
  globalThis.clearTimeout = (timer) => {
    running.delete(timer)
    cancel(timer)
  }
  globalThis.clearInterval = (timer) => {
    running.delete(timer)
    cancelMany(timer)
  }
  return () => running.size
}
