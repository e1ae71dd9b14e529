import { type Clock, startTimer } from '../../core/clock.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import type { Key } from '../../limiter/options.ts'

const EVERY_MS = 250
const USERS = 8
/** The most requests to one policy at a time. */
const MOST_AT_ONCE = 8
/** How long traffic takes to swell and to ebb away again. */
const TIDE_MS = 40_000

/**
 * Asks all limiters for something several times a second, so that there is something to see: a few callers, one of them in a hurry, now
 * more and now less. Whatever comes of it, nothing is thrown. Returns the function that ends it.
 */
export function startDemoTraffic(
  limiters: () => readonly Limiter<string>[],
  { random = Math.random, clock }: { readonly random?: () => number; readonly clock?: Clock } = {},
): () => void {
  let elapsedMs = 0
  const send = (): void => {
    elapsedMs += EVERY_MS
    const tide = (1 + Math.sin((2 * Math.PI * elapsedMs) / TIDE_MS)) / 2
    for (const limiter of limiters()) {
      const count = Math.ceil(random() * MOST_AT_ONCE * tide)
      for (let sent = 0; sent < count; sent++) void ask(limiter, random).catch(() => {})
    }
    stop = wait()
  }
  const wait = (): (() => void) => startTimer(clock, EVERY_MS, send, { keepsAlive: false })
  let stop = wait()
  return () => stop()
}

async function ask(limiter: Limiter<string>, random: () => number): Promise<void> {
  const key = chooseKey(limiter, random)
  const rules = Object.values(limiter.rules)
  if (rules.every(({ limit }) => limit < BUDGET) && rules.every(({ refunds }) => refunds !== 'lease')) {
    await limiter.consume(key)
    return
  }
  // Permits and budgets are taken for a time.
  const smallest = Math.min(...rules.map(({ limit }) => limit))
  const estimate = Math.max(1, Math.floor((random() * smallest) / 50))
  const hold = await limiter.reserve(key, { estimate, expiresIn: 2_000 })
  if (random() < 0.9) await hold.settle(Math.floor(estimate * random()))
}

/** Limits from here on are taken for budgets. */
const BUDGET = 10_000

function chooseKey({ name, rules }: Limiter<string>, random: () => number): Key<string> {
  // Half of all requests are those of one caller.
  const caller = random() < 0.5 ? 1 : 1 + Math.floor(random() * USERS)
  const tiers = Object.keys(rules)
  if (tiers.length === 1 && tiers[0] === name) return `user:${caller}`
  return Object.fromEntries(tiers.map((tier) => [tier, composeSubject(tier, caller)]))
}

function composeSubject(tier: string, caller: number): string {
  if (/ip|address/i.test(tier)) return `203.0.113.${caller}`
  return /global|all|total|every/i.test(tier) ? 'all' : `user:${caller}`
}
