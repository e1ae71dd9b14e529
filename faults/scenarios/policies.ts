import type { Tally } from '../load.ts'
import type { Scenario } from '../scenario.ts'

/** One outage, four processes, and each does something else about it. Every decision has a key of its own: no limit is ever reached. */
export const policies: Scenario = {
  name: 'policies',
  title: 'killed; allow, refuse, throw and fallback',
  clients: ['ioredis', 'node-redis'],
  tested: ['node-redis'],
  async run(stage) {
    const server = await stage.server()
    const crews = await Promise.all(
      Object.keys(holds).map((onStoreFailure) => {
        const options = { name: onStoreFailure, onStoreFailure }
        return stage.crew(1, { servers: [server], options, loops: 8, freshKeys: true })
      }),
    )
    await Promise.all(crews.map((crew) => crew.backOnRedis()))
    await stage.pass(2_000, 500)
    await server.stop()
    await stage.pass(5_000, 1_500)
    await stage.restart(server)
    const recoveredMs = Math.max(...(await Promise.all(crews.map((crew) => crew.backOnRedis()))))
    await stage.pass(1_000, 200)
    const tallies = (await Promise.all(crews.map((crew) => crew.stop()))).flat()
    const problems = Object.entries(holds).flatMap(([policy, isRight], index) => {
      const tally = tallies[index] as Tally
      const { decided, admitted, by, reasons, errors } = tally
      const told = JSON.stringify({ decided, admitted: admitted.count, by, reasons, errors })
      return isRight(tally) ? [] : [`${policy}: ${told}`]
    })
    const limits = { ...stage.bounds({ instances: 1, processes: 4 }), errors: ['STORE_FAILED'] }
    return { tallies, limits, recoveredMs, problems }
  },
}

/** What must be true of the decisions under each policy. */
const holds: Readonly<Record<string, (tally: Tally) => boolean>> = {
  allow: ({ decided, admitted, by }) => admitted.count === decided && (by.redis ?? 0) < decided,
  refuse: ({ decided, admitted, reasons, errors }) => {
    const refused = reasons['store-unavailable'] ?? 0
    return refused > 0 && admitted.count + refused === decided && Object.keys(errors).length === 0
  },
  throw: ({ decided, admitted, errors }) => {
    const failed = errors.STORE_FAILED ?? 0
    return failed > 0 && admitted.count + failed === decided
  },
  fallback: ({ decided, admitted, by }) => {
    const alone = by.fallback ?? 0
    return alone > 0 && admitted.count === decided && alone + (by.redis ?? 0) === decided
  },
}
