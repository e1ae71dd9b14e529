import { setTimeout as delay } from 'node:timers/promises'

/** Resolves once `whyNot` gives `undefined`, and throws with its last reason after `longestMs`. A rejection is a reason. */
export async function waitUntil(whyNot: () => Promise<string | undefined>, longestMs = 20_000): Promise<void> {
  const deadlineMs = performance.now() + longestMs
  for (;;) {
    const why = await whyNot().catch((error) => `${error}`)
    if (why === undefined) return
    if (performance.now() > deadlineMs) throw new Error(`not within ${longestMs} ms: ${why}`)
    await delay(POLL_MS)
  }
}

const POLL_MS = 20
