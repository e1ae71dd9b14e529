import { lineChart } from '../chart.mjs'
import { atMost, ratios } from '../goals.mjs'
import { memoryGrowth } from '../growth/memory-growth.mjs'
import { IN_FLIGHT, keyGrowth, processGrowth } from '../growth/redis-growth.mjs'
import { perSecond } from '../redis/open-crew.mjs'
import { markdownTable, median, number, spread } from '../report.mjs'

// "Flat", on a machine where two runs of the same thing differ by a tenth.
const FLAT = 1.25

/** Whether a decision costs the same with more keys, and with more processes. */
export async function run({ server, quick, progress }) {
  const memory = await memoryGrowth(quick, progress)
  const keys = await keyGrowth(server, quick, progress)
  const teams = await processGrowth(server, quick, progress)
  return [
    {
      name: 'growth',
      title: 'More keys, more processes',
      goals: goalsOf(memory, keys, teams),
      charts: chartsOf(memory, keys, teams),
      body: `"Flat" is taken for ${FLAT}× at most. Median (least–most).

## Keys in memory

Nanoseconds a decision, awaited, its key built anew, over all keys in turn so that the processor's caches do not help. A bare map that only
counts shows what the machine itself takes for more memory.

${memoryTable(memory)}

## Keys on Redis

One process, 512 in flight, a sliding window.

${keyTable(keys)}

## Processes

${IN_FLIGHT} in flight in each process, 10,000 keys. Server and processes share the cores of this machine: once these are busy, more processes
add nothing, and what a decision takes of the server is what counts.

${processTable(teams)}`,
    },
  ]
}

const cpuEach = ({ cpuUs, decided }) => cpuUs / decided

function goalsOf([ours, map], keys, teams) {
  const growth = ({ steps }) => median(steps.at(-1).nsEach) / median(steps[0].nsEach)
  const size = (count) => number(count)
  const { steps } = teams[0]
  const cpuGrowth = (list) => ratios(list.at(-1).rounds.map(cpuEach), list[0].rounds.map(cpuEach))
  return [
    {
      work: `memory, ${size(ours.steps.at(-1).size)} keys ÷ 1,000`,
      beside: "a bare map's growth",
      measured: [growth(ours) / growth(map)],
    },
    { work: "the server's CPU", beside: `${size(keys.at(-1).keys)} keys ÷ 1,000`, measured: cpuGrowth(keys) },
    { work: "the server's CPU", beside: `${steps.at(-1).processes} processes ÷ 1`, measured: cpuGrowth(steps) },
  ].map((row) => ({ ...row, goal: atMost(FLAT) }))
}

function memoryTable(subjects) {
  const header = ['keys', ...subjects.flatMap(({ name }) => [`${name}, ns`, '÷ 1,000 keys'])]
  const rows = subjects[0].steps.map(({ size }, index) => [
    number(size),
    ...subjects.flatMap(({ steps }) => {
      const { nsEach } = steps[index]
      return [spread(nsEach), number(median(nsEach) / median(steps[0].nsEach), 2)]
    }),
  ])
  return markdownTable(header, rows)
}

function keyTable(steps) {
  const rows = steps.map(({ keys, rounds }) => [
    number(keys),
    spread(rounds.map(perSecond)),
    spread(rounds.map(cpuEach), 1),
    number(median(rounds.map(cpuEach)) / median(steps[0].rounds.map(cpuEach)), 2),
  ])
  return markdownTable(['keys', 'decisions/s', "server's CPU, µs a decision", '÷ 1,000 keys'], rows)
}

function processTable(teams) {
  const header = [
    'processes',
    ...teams.flatMap(({ name }) => [`${name}, decisions/s`, 'µs of the server', 'server busy']),
  ]
  const rows = teams[0].steps.map(({ processes }, index) => [
    number(processes),
    ...teams.flatMap(({ steps }) => {
      const { rounds } = steps[index]
      const busy = median(rounds.map(({ cpuUs, seconds }) => cpuUs / 1e6 / seconds))
      return [spread(rounds.map(perSecond)), spread(rounds.map(cpuEach), 1), `${number(100 * busy)} %`]
    }),
  ])
  return markdownTable(header, rows)
}

function chartsOf(memory, keys, teams) {
  const points = (steps, x, y) => steps.map((step) => [x(step), Number(y(step).toPrecision(3))])
  const middle = (figure) => (step) => median(step.rounds.map(figure))
  return {
    'growth-memory': lineChart({
      title: 'A decision in memory, by keys',
      xName: 'keys',
      yName: 'ns a decision',
      lines: memory.map(({ name, steps }) => ({
        name,
        points: points(
          steps,
          ({ size }) => size,
          ({ nsEach }) => median(nsEach),
        ),
      })),
    }),
    'growth-keys': lineChart({
      title: 'CPU of the Redis server, by keys',
      xName: 'keys',
      yName: 'µs a decision',
      lines: [{ name: 'sluice slidingWindow', points: points(keys, (step) => step.keys, middle(cpuEach)) }],
    }),
    'growth-processes': lineChart({
      title: 'All processes together, on one Redis',
      xName: 'processes',
      yName: 'decisions a second',
      lines: teams.map(({ name, steps }) => ({
        name,
        points: points(steps, ({ processes }) => processes, middle(perSecond)),
      })),
    }),
  }
}
