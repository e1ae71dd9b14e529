import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type LuaEngine, LuaFactory } from 'wasmoon'
import type { Rule } from '../../src/core/rule.ts'
import * as rules from '../../src/rules/index.ts'
import { requestText } from '../../src/stores/redis/request-text.ts'
import { getScript } from '../../src/stores/redis/script-catalog.ts'
import { anything, type Moment, play, requestOf, starts, steps, waits } from '../schedules.ts'

// Some engines run scripts on Lua 5.4, where whole numbers are a type of their own: they overflow, and 5.0 is printed as 5.0.
// None of these engines can be had here, but their language can. What the scripts ask of a server is a table here.

const SERVER = `
struct = { pack = string.pack, unpack = string.unpack }
local values = {}
redis = {
  call = function(command, key, value, px, ttlMs)
    if command == 'GET' then return values[key] or false end
    if command == 'DEL' then values[key] = nil return 1 end
    assert(command == 'SET' and px == 'PX' and string.match(ttlMs, '^[1-9]%d*$'), 'a TTL in whole milliseconds')
    values[key] = value
    return { ok = 'OK' }
  end,
}
local scripts = {}
function run(name, text, key, args)
  scripts[name] = scripts[name] or assert(load(text, name))
  KEYS, ARGV = { key }, {}
  for argument in string.gmatch(args, '%S+') do ARGV[#ARGV + 1] = argument end
  local reply = scripts[name]()
  for index = 1, 5 do assert(math.type(reply[index]) == 'integer', 'a reply of whole numbers') end
  return table.concat(reply, ' ')
end
`

let lua: LuaEngine
let run: (name: string, text: string, key: string, args: string) => string
beforeAll(async () => {
  lua = await new LuaFactory().createEngine()
  await lua.doString(SERVER)
  run = lua.global.get('run')
})
afterAll(() => lua.global.close())

const small = fc.integer({ min: 1, max: 9 })
const big = fc.constantFrom(1_000_000_007, 4_503_599_627_370)
const limits = fc.oneof(small, big)
const capacities = fc.oneof(small, fc.constant(1_000_000_007))
// The product of the longest and the largest charge does not fit into 64 bits.
const periods = fc.constantFrom(7, 1_000, 61_000)
const configurations: Readonly<Record<string, fc.Arbitrary<Rule>>> = {
  'fixed-window': fc.record({ limit: limits, windowMs: fc.constantFrom(250, 999) }).map(rules.fixedWindow),
  'sliding-window': fc.record({ limit: limits, windowMs: fc.constantFrom(250, 999) }).map(rules.slidingWindow),
  'sliding-log': fc.record({ limit: limits, windowMs: fc.constantFrom(250, 999) }).map(rules.slidingLog),
  'strict-window': fc
    .record({ limit: limits, windowMs: fc.constantFrom(250, 999), slices: fc.constantFrom(1, 3, 7) })
    .map(rules.strictWindow),
  'token-bucket': fc.record({ capacity: capacities, refill: small, periodMs: periods }).map(rules.tokenBucket),
  'leaky-bucket': fc
    .record({
      capacity: capacities,
      leak: small,
      periodMs: periods,
      mode: fc.constantFrom('police' as const, 'shape' as const),
    })
    .map(rules.leakyBucket),
  concurrency: fc.record({ limit: limits, leaseMs: fc.constantFrom(250, 999) }).map(rules.concurrency),
}

it.each(Object.entries(configurations))('%s decides on Lua 5.4 as in memory', (name, rule) => {
  let count = 0
  fc.assert(
    fc.property(rule, anything(fc.oneof(waits, steps)), starts, fc.boolean(), (of, turnList, startMs, greedy) => {
      const amounts = turnList.map((turn) => (greedy && turn.action === 'charge' ? 2 ** 53 - 1 : turn.amount))
      const turns = turnList.map((turn, index) => ({ ...turn, amount: amounts[index] as number }))
      const { required, optional, source } = getScript(name)
      const values = (names: readonly string[]) => names.map((parameter) => of.parameters[parameter])
      const key = `${name} ${count++}`
      for (const moment of play(of, turns, startMs, 250)) {
        const args = [
          ...values(required),
          moment.nowMs,
          requestText(requestOf(moment.action, moment.amount)),
          ...values(optional),
        ].join(' ')
        expect(run(name, source, key, args)).toBe(replyOf(moment))
      }
    }),
    { numRuns: 100 },
  )
})

function replyOf({ ruling, nowMs }: Moment): string {
  const { allowed, remaining, retryAfterMs, resetAfterMs, delayMs, block } = ruling
  const blockedMs = block === undefined ? 0 : Math.max(0, block.untilMs - nowMs)
  const waitMs = allowed ? delayMs : blockedMs
  return [allowed ? 1 : 0, remaining, retryAfterMs === Infinity ? -1 : retryAfterMs, resetAfterMs, waitMs].join(' ')
}
