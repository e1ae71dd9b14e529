import { startCrew } from '../redis/crew.mjs'
import { number } from '../report.mjs'

const LIMITS = { limit: 1_000_000_000, windowMs: 3_600_000 }
const OURS = 'sluice slidingWindow'
const PEER = 'rate-limit-redis'
// Where a million keys take longer than that, there are as many as there are.
const FILL_MS = 60_000

/** What a decision takes on Redis by how many keys there are: `[{ keys, rounds }]`. */
export async function keyGrowth(server, quick, progress) {
  const steps = []
  for (const keys of quick ? [1_000, 10_000] : [1_000, 10_000, 100_000, 1_000_000]) {
    await server.redis.flushall()
    const member = { subjectName: OURS }
    const crew = await startCrew(server, [member], { ...LIMITS, keys })
    try {
      progress(`${number(keys)} keys on Redis`)
      await crew.fill({ inFlight: 512, ms: FILL_MS })
      const filled = await server.redis.dbsize()
      const order = quick ? { count: 1, ms: 150 } : { count: 5, ms: 400 }
      const results = await crew.rounds({
        ...order,
        inFlight: 512,
        progress: (text) => progress(`${number(keys)} keys, ${text}`),
      })
      steps.push({ keys: filled, rounds: results.get(member) })
    } finally {
      await crew.end()
    }
  }
  return steps
}

/** What all processes together decide by how many there are, of ours and of a peer: `[{ name, steps: [{ processes, rounds }] }]`. */
export async function processGrowth(server, quick, progress) {
  const counts = quick ? [1, 2] : [1, 2, 4, 8, 16]
  const most = counts.at(-1)
  const teams = [OURS, PEER].map((name) => ({
    name,
    members: Array.from({ length: most }, () => ({ subjectName: name })),
    steps: counts.map((processes) => ({ processes, rounds: [] })),
  }))
  const members = teams.flatMap((team) => team.members)
  await server.redis.flushall()
  const crew = await startCrew(server, members, { ...LIMITS, keys: 10_000 })
  const order = { inFlight: IN_FLIGHT, ms: quick ? 150 : 500 }
  try {
    await crew.together(members, order)
    for (let round = 1; round <= (quick ? 1 : 3); round++) {
      for (const [index, processes] of counts.entries()) {
        for (const { name, members: team, steps } of teams) {
          progress(`round ${round}: ${processes} processes of ${name}`)
          steps[index].rounds.push(await crew.together(team.slice(0, processes), order))
        }
      }
    }
    return teams
  } finally {
    await crew.end()
  }
}

/** How many decisions each process has under way. */
export const IN_FLIGHT = 128
