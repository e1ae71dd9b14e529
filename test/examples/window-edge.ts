import { setTimeout as delay } from 'node:timers/promises'

/**
 * Waits, if need be, until a window of this length has so much time left. A window that ends while a test counts lets one more request
 * pass, as it should.
 */
export async function awayFromWindowEdge(windowMs: number, neededMs: number): Promise<void> {
  const leftMs = windowMs - (Date.now() % windowMs)
  if (leftMs < neededMs) await delay(leftMs)
}
