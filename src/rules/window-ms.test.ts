import { expect, it } from 'vitest'
import { everyMode, GOOD, ruleOf } from '../../test/rule-registry.ts'

it.each(everyMode)('$title says in windowMs how long its limit takes to come back at its lasting rate', (mode) => {
  const { windowMs, limit, replenishes, step } = ruleOf(mode, { ...GOOD, rate: 3 })
  const usedUp = step(undefined, 10_000, limit)
  if (replenishes === 'continuously') expect(Math.ceil(windowMs as number)).toBe(usedUp.resetAfterMs)
  else expect(windowMs).toBe(replenishes === 'on-release' ? undefined : 1_000)
})
