import type { Rule } from '../../src/core/rule.ts'
import { type Random, randomFrom } from '../../src/simulate/random.ts'
import { driftingClock, VirtualTime } from '../../src/simulate/virtual-time.ts'
import { History } from './history.ts'
import { type LenderMistakes, RateLender } from './rate-lender.ts'
import { type ProcessMistakes, RateProcess, type RateWorld } from './rate-process.ts'
import { dateAt } from './server.ts'

/** All that can be done wrong when units are lent by rate. */
export type RateMistakes = LenderMistakes & ProcessMistakes & { readonly collides?: boolean }

/** Plays processes that keep what they have, spend it at once, end late, ask again and crash. Returns what the rule itself refuses. */
export function playRates(
  rule: Rule,
  seed: number,
  lengthMs: number,
  mistakes: RateMistakes = {},
): { readonly over: number; readonly local: number } {
  const random = randomFrom(seed)
  const time = new VirtualTime()
  const history = new History()
  const lender = new RateLender(rule, mistakes)
  const dateMs = (): number => dateAt(time)
  const note = (amount: number, isLocal: boolean): void => {
    const one = { limit: 'all', key: 'hot', rule, type: 'consume' as const, parts: { amount }, isLocal }
    history.add({ atMs: time.nowMs, dateMs: dateMs(), ...one })
  }
  const maxMs = random.whole(20, 600)
  const longestMs = random.next() < 0.6 ? random.whole(1, 20) : Math.floor(random.next() * 1.3 * maxMs)
  let ids = 0
  const start = (): void => {
    let isAlive = true
    const drift = 0.0009 * (2 * random.next() - 1)
    // A message takes its time, may get lost, and may arrive twice.
    const send = (arrive: () => void): void => {
      const delayMs = (): number => longestMs * random.next() ** 4
      if (random.next() >= 0.03) time.after(delayMs(), arrive)
      if (random.next() < 0.02) time.after(delayMs(), arrive)
    }
    const world: RateWorld = {
      clock: driftingClock(time, 1_000_000 * random.next(), drift),
      maxMs,
      leadMs: () => 0,
      mistakes,
      createId: () => (mistakes.collides ? random.whole(1, 3) : ++ids),
      spent: (units) => note(units, true),
      settle: (id, used) => send(() => lender.settle(dateMs(), id, used)),
      ask(request, answer) {
        let isOver = false
        const end = (result: ReturnType<RateLender['ask']>): void => {
          if (isOver || !isAlive) return
          isOver = true
          answer(result)
        }
        time.after(2 * longestMs + 50, () => end(false))
        send(() => {
          const result = lender.ask(dateMs(), request)
          if (result !== false) note(1, false)
          send(() => end(result))
        })
      },
    }
    drive(new RateProcess(world), time, random, () => isAlive)
    time.after(random.exponential() * 3_000, () => {
      isAlive = false
      if (time.nowMs < lengthMs) start()
    })
  }
  for (let count = random.whole(1, 8); count > 0; count--) start()
  time.run(lengthMs)
  const over = history.replay().reduce((sum, { units }) => sum + units, 0)
  return { over, local: history.local }
}

/** Lets a process spend: unit by unit, or all of it in the last millisecond in which it may. */
function drive(process: RateProcess, time: VirtualTime, random: Random, isAlive: () => boolean): void {
  const keeps = random.next()
  const turn = (): void => {
    if (!isAlive()) return
    const choice = random.next()
    const rest = process.restMs
    if (rest > 0 && rest <= 1 && choice < 0.7) process.spend(process.countLeft())
    else if (rest <= 0 || choice > keeps) for (let units = random.whole(1, 8); units > 0; units--) process.consume()
    else if (choice < 0.002) process.end()
    else if (choice < 0.01) process.spend(process.countLeft())
    time.after(random.next(), turn)
  }
  turn()
}
