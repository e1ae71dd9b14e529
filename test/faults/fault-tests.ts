import { describe, expect, inject, it } from 'vitest'
import { runScenario } from '../../faults/run-scenario.ts'
import type { Row, Scenario } from '../../faults/scenario.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Set by `npm run faults`, where scenarios take their time. */
    longFaults: boolean
  }
  interface TaskMeta {
    /** What `npm run faults` makes its table of. */
    fault?: Row
  }
}

/** One test for each scenario and each client it is for. */
export function faultTests(scenarios: readonly Scenario[]): void {
  const isLong = inject('longFaults') ?? false
  for (const scenario of scenarios) {
    describe(scenario.name, () => {
      it.for(isLong ? scenario.clients : scenario.tested)(
        `${scenario.title}, with %s`,
        { timeout: 120_000 },
        async (client, { task }) => {
          const row = await runScenario(scenario, client, isLong)
          task.meta.fault = row
          expect(row.problems).toEqual([])
        },
      )
    })
  }
}
