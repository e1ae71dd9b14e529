import { measureRateCalls } from './rate-load.ts'
import { playRates, type RateMistakes } from './rate-play.ts'
import { rules } from './rules.ts'

/** How long each schedule is. */
const LENGTH_MS = 6_000

/** What lending by rate cannot do without, and what happens where it is left out. */
export const rateMutants: Readonly<Record<string, RateMistakes>> = {
  'gives each process the rate as if it were alone': { sharesRate: true },
  'looks at what comes back by the end, and not at when': { looksAtEnd: true },
  'lets units come from when it asked': { comesEarly: true },
  'counts the life of a grant from the reply': { endsLate: true },
  'has ids that collide': { collides: true },
}

/** The units that the rule itself refuses, of all rules in schedules from seed 1 on. */
export function countOver(schedules: number, mistakes: RateMistakes = {}, isEnough = (_over: number) => false): number {
  let over = 0
  for (let seed = 1; seed <= schedules && !isEnough(over); seed++) {
    for (const rule of Object.values(rules)) over += playRates(rule, seed, LENGTH_MS, mistakes).over
  }
  return over
}

/** Prints whether lending by rate is exact, and what it costs. */
export function proveRates(schedules: number, print: (line: string) => void): boolean {
  const over = countOver(schedules)
  print(`${schedules} schedules of each rule: ${over} units refused by the rule itself\n\nMutants`)
  let survivors = 0
  for (const [name, mistakes] of Object.entries(rateMutants)) {
    const found = countOver(100, mistakes, (units) => units > 0)
    if (found === 0) survivors++
    print(`  ${name.padEnd(54)} ${found === 0 ? 'SURVIVES' : `${found} over`}`)
  }
  print('\n100,000 requests a second, a window of 1 s, 16 processes: all alike / one of them with 90 %')
  for (const name of ['slidingWindow', 'slidingLog', 'strictWindow, 10 slices', 'tokenBucket', 'leakyBucket, police']) {
    const cells = [2, 1, 0.5].map((demand) => {
      const both = [undefined, 0.9].map((share) => measureRateCalls(name, 100_000, 16, demand, share))
      const losses = both.map(({ admitted, exact }) => ((100 * (exact - admitted)) / exact).toFixed(2))
      return `${losses.join(' / ')} %, ${both.map(({ callsPerSecond }) => Math.round(callsPerSecond)).join(' / ')}`
    })
    print(`  ${name.padEnd(24)} ${cells.join(' · ')}`)
  }
  return over === 0 && survivors === 0
}
