// What ioredis takes to decode replies of integers, beside the decoder of node-redis, which it was made from, without a server: for the draft in bench/ioredis-decoder.md.
//
// node bench/ioredis-decoder.mjs
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { markdownTable, median, middleHalf, number } from './report.mjs'

const require = createRequire(import.meta.url)
const REPLIES = 1_000
const ROUNDS = 21
const INTEGERS = [1, 4, 64]

// By their files: neither exports its decoder.
const requireFile = (path) => require(fileURLToPath(new URL(`../node_modules/${path}`, import.meta.url)))
const lowered = requireFile('ioredis/built/resp/decoder.js')
const native = requireFile('@redis/client/dist/lib/RESP/decoder.js')
const open =
  ({ Decoder }) =>
  (onReply) => {
    const decoder = new Decoder({ onReply, onErrorReply: onReply, onPush() {}, getTypeMapping: () => ({}) })
    return (bytes) => decoder.write(bytes)
  }

const decoders = {
  'ioredis 6': open(lowered),
  'node-redis': open(native),
}

const rows = []
for (const count of INTEGERS) {
  const reply = `*${count}\r\n${':1234567\r\n'.repeat(count)}`
  const bytes = Buffer.from(reply.repeat(REPLIES))
  let seen = 0
  const ways = Object.entries(decoders).map(([name, start]) => [name, start(() => seen++), []])
  for (let round = 0; round < ROUNDS; round++) {
    for (const [, decode, times] of ways) {
      const before = process.cpuUsage()
      decode(bytes)
      const { user, system } = process.cpuUsage(before)
      times.push((user + system) / REPLIES / count)
    }
  }
  if (seen !== ways.length * ROUNDS * REPLIES) throw new Error(`${seen} replies were read`)
  const [[, , ours], [, , theirs]] = ways
  const cells = ways.map(([, , times]) => middleHalf(times.map((us) => 1_000 * us)))
  rows.push([number(count), ...cells, number(median(ours) / median(theirs), 1)])
}
console.log(
  markdownTable(['integers in a reply', ...Object.keys(decoders).map((name) => `${name}, ns each`), '÷'], rows),
)
