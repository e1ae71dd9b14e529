/** Calls `run` in the next turn of the event loop: what has arrived by now is read first. Browsers have a timer for it only. */
export function nextTurn(run: () => void): void {
  if (typeof setImmediate === 'function') setImmediate(run)
  else setTimeout(run, 0)
}
