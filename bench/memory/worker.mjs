// One limiter of bench/parts/memory.mjs in a process of its own: runs a round whenever it is asked.
import { subjects } from './subjects.mjs'

const STRIDE = 7_919
const PER_LOOK = 1_000

process.once('disconnect', () => process.exit())
const { subjectName, build } = JSON.parse(process.argv[2])
const { awaited, open } = subjects.find(({ name }) => name === subjectName)
const decide = await open(build)
const names = []
const loop = awaited ? awaitEach : takeEach

process.on('message', async (order) => process.send(await run(order)))
process.send('ready')

async function run({ keys, ms }) {
  for (let index = names.length; index < keys; index++) names.push(`user:${1_000_000 + index}`)
  let decided = 0
  const cpuBefore = process.cpuUsage()
  const endMs = performance.now() + ms
  for (; performance.now() < endMs; decided += PER_LOOK) await loop(keys, decided * STRIDE)
  const { user, system } = process.cpuUsage(cpuBefore)
  return { decided, clientUs: user + system }
}

async function awaitEach(keys, from) {
  for (let index = 0, turn = from % keys; index < PER_LOOK; index++, turn = (turn + STRIDE) % keys)
    await decide(names[turn])
}

function takeEach(keys, from) {
  for (let index = 0, turn = from % keys; index < PER_LOOK; index++, turn = (turn + STRIDE) % keys) decide(names[turn])
}
