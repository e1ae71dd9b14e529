import { driftingClock } from '../../src/simulate/virtual-time.ts'
import { lending } from './calls.ts'
import { type Crew, type Measured, playLoad } from './load.ts'
import { RateLender } from './rate-lender.ts'
import { RateProcess } from './rate-process.ts'
import { dateAt } from './server.ts'

/** Processes that spend by rate, on a network that works. */
const byRate: Crew = (time, random, rule) => {
  const lender = new RateLender(rule, {})
  const delayMs = (): number => 0.075 + 0.175 * random.exponential()
  let ids = 0
  return () => {
    let admitted = 0
    const process = new RateProcess({
      clock: driftingClock(time, 1_000_000, 0),
      maxMs: 100,
      leadMs: (lifeMs) => Math.min(3, lifeMs / 4),
      createId: () => ++ids,
      spent: (units) => {
        admitted += units
      },
      settle: (id, used) => time.after(delayMs(), () => lender.settle(dateAt(time), id, used)),
      ask: (request, answer) =>
        time.after(delayMs(), () => {
          const result = lender.ask(dateAt(time), request)
          if (result !== false) admitted++
          time.after(delayMs(), () => answer(result))
        }),
    })
    return {
      consume: () => process.consume(),
      get admitted() {
        return admitted
      },
      get calls() {
        return process.calls
      },
    }
  }
}

/** One key of a rule with a window of a second, for `demand` times its limit. */
export function measureRateCalls(
  name: string,
  rate: number,
  processes: number,
  demand: number,
  share?: number,
): Measured {
  const rule = lending[name]?.(rate / demand, 1_000)
  if (rule === undefined) throw new Error(`there is no ${name}`)
  const load = { rule, processes, rate, warmMs: 2_000, measuredMs: 4_000 }
  return playLoad(share === undefined ? load : { ...load, firstShare: share }, byRate)
}
