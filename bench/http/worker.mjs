// Two servers of bench/parts/http.mjs in one process: one without a limiter and the one that is measured. They take turns every few
// milliseconds: whatever else the machine does, it does to both.
import { requestsTo } from './requests.mjs'
import { bareOf, nameOf, subjects } from './subjects.mjs'

const BLOCK = 100

process.once('disconnect', () => process.exit())
const { name, build } = JSON.parse(process.argv[2])
const subject = subjects.find((candidate) => nameOf(candidate) === name)
const ways = { bare: requestsTo(await bareOf(subject).open()), measured: requestsTo(await subject.open(build)) }
for (const [way, send] of Object.entries(ways))
  check(Buffer.concat((await send()).map((chunk) => Buffer.from(chunk))).toString(), way)

process.on('message', async (order) => process.send(await run(order)))
process.send('ready')

/** Pairs of CPU times of a request, in microseconds, for `ms`. */
async function run({ ms }) {
  const pairs = []
  const endMs = performance.now() + ms
  while (performance.now() < endMs) {
    // Every other time backwards: what one leaves behind, such as garbage, must not always fall to the same.
    const turns = pairs.length % 2 === 0 ? ['bare', 'measured'] : ['measured', 'bare']
    const pair = {}
    for (const way of turns) pair[way] = await cpuUs(ways[way])
    pairs.push(pair)
  }
  return pairs
}

async function cpuUs(send) {
  const before = process.cpuUsage()
  for (let sent = 0; sent < BLOCK; sent++) await send()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / BLOCK
}

/** Whether it passed, and told its limit if it has one. */
function check(answer, way) {
  const tells = /\r\n(x-)?ratelimit/i.test(answer)
  if (!answer.startsWith('HTTP/1.1 200 ') || tells !== (way === 'measured'))
    throw new Error(`${name}, ${way}: ${answer}`)
}
