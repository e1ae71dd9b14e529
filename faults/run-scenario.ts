import { judge } from './judge.ts'
import type { Job } from './load.ts'
import type { Row, Scenario } from './scenario.ts'
import { Stage } from './stage.ts'

/** Plays a scenario with one client, and ends everything that it started, however it went. */
export async function runScenario(scenario: Scenario, client: Job['client'], isLong: boolean): Promise<Row> {
  const stage = new Stage(client, isLong)
  try {
    return judge(scenario, client, await scenario.run(stage))
  } finally {
    await stage.end()
  }
}
