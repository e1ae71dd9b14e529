import { openCrew } from '../redis/open-crew.mjs'
import { number } from '../report.mjs'

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
    const crew = await openCrew(server, [member])
    try {
      progress(`${number(keys)} keys on Redis`)
      await crew.ask(member, { inFlight: 512, keys, decisions: keys, ms: FILL_MS })
      const filled = await server.redis.dbsize()
      const order = quick ? { count: 1, ms: 150 } : { count: 5, ms: 400 }
      const turn = { name: OURS, member }
      const results = await crew.rounds([turn], {
        ...order,
        inFlight: 512,
        keys,
        progress: (text) => progress(`${number(keys)} keys, ${text}`),
      })
      steps.push({ keys: filled, rounds: results.get(turn) })
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
  const crew = await openCrew(server, members)
  const order = { inFlight: IN_FLIGHT, keys: 10_000, ms: quick ? 150 : 500 }
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
