import { mutants } from './mutants.ts'
import { rules } from './rules.ts'
import { kill, playMany, surroundings } from './schedules.ts'

const LENGTH_MS = 10_000
/** A mutant gets this many schedules of each rule to show itself. */
const MUTANT_SCHEDULES = 300

/** Plays all rules in all surroundings, and all mutants. Whether nothing went over, and no mutant survived. */
export function prove(schedules: number, print: (line: string) => void): boolean {
  const total = { admitted: 0, local: 0, over: 0, late: 0 }
  print('Units admitted · from grants · refused by the rule itself · beyond it by a jump or another rule, of at most')
  for (const [title, around] of Object.entries(surroundings)) {
    print(`\n${title}`)
    for (const [name, rule] of Object.entries(rules)) {
      const { admitted, local, over, excused, excusable, late, seed } = playMany(rule, schedules, LENGTH_MS, around)
      total.admitted += admitted
      total.local += local
      total.over += over
      total.late += late
      const excuse = excusable > 0 ? ` · ${excused} of ${Math.floor(excusable)}` : ''
      const wrong = seed === undefined ? '' : ` · FAILS, first with seed ${seed}, ${late} blocked keys used`
      print(`  ${name.padEnd(24)} ${admitted} · ${local} · ${over}${excuse}${wrong}`)
    }
  }
  print('\nMutants')
  let survivors = 0
  for (const name of Object.keys(mutants)) {
    const found = kill(name, MUTANT_SCHEDULES, LENGTH_MS)
    if (found === undefined) survivors++
    const end = found === undefined ? 'SURVIVES' : `${found.over} over: ${found.rule}, seed ${found.seed}`
    print(`  ${name.padEnd(52)} ${end}`)
  }
  const { admitted, local, over, late } = total
  print(`\n${admitted} units admitted, ${local} of them from grants; ${over} refused by the rule itself, ${late} late`)
  print(`${Object.keys(mutants).length - survivors} of ${Object.keys(mutants).length} mutants found`)
  return over === 0 && late === 0 && survivors === 0
}
