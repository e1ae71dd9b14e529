let nowMs = Date.UTC(2026, 0, 1)

/**
 * Stops the machine's clock for this process. The memory store does a little work for each millisecond since its last decision, so
 * a walk would be longer on a busy machine.
 */
export function stopClock() {
  Date.now = () => nowMs
}

/** Moves the stopped clock one millisecond on. */
export function stepClock() {
  nowMs++
}
