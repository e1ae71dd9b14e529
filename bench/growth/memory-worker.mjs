// A store in a process of its own that grows to the sizes it is given: says what a decision takes at each, in nanoseconds.
const { subjectName, sizes, decisions, rounds } = JSON.parse(process.argv[2])
// Far from one key to the next, so that no cache of the processor helps.
const STRIDE = 7_919
const subjects = { 'sluice slidingWindow': sluice, 'a bare Map': bareMap }

const decide = await subjects[subjectName]()
let held = 0
for (const size of sizes) {
  for (; held < size; held++) await decide(keyOf(held))
  process.send({ size, nsEach: await timeOf(size) })
}
process.disconnect()

async function timeOf(size) {
  const times = []
  let turn = 0
  for (let round = 0; round <= rounds; round++) {
    const startMs = performance.now()
    for (let index = 0; index < decisions; index++) {
      turn = (turn + STRIDE) % size
      await decide(keyOf(turn))
    }
    times.push((1e6 * (performance.now() - startMs)) / decisions)
  }
  // The first one is for compiling.
  return times.slice(1)
}

// Eight digits for every key, so that all are of one length.
function keyOf(number) {
  return `user:${10_000_000 + number}`
}

async function sluice() {
  const { createLimiter, memoryStore, slidingWindow } = await import('sluice')
  const store = memoryStore({ maxKeys: 16_000_000 })
  const limiter = createLimiter({
    name: 'growth',
    rule: slidingWindow({ limit: 1_000_000, window: 3_600_000 }),
    store,
  })
  return (key) => limiter.consume(key)
}

async function bareMap() {
  const counts = new Map()
  return (key) => counts.set(key, (counts.get(key) ?? 0) + 1)
}
