import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type LuaEngine, LuaFactory } from 'wasmoon'
import type { LimitResult } from '../../src/core/decision.ts'
import type { Rule } from '../../src/core/rule.ts'
import type { RedisConnection } from '../../src/stores/redis/clients/redis-connection.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { getScript, listScripts, type Script } from '../../src/stores/redis/script-catalog.ts'
import { DecisionReply, encodeCall, encodeCost, encodeOperation, isHot } from '../../src/stores/redis/wire.ts'
import { runs } from '../effort.ts'
import { mapStore } from '../map-store.ts'
import { operationBy } from '../open-limit.ts'
import { everyRule, isSteady, randomRules } from '../rule-registry.ts'
import { anything, type Moment, play, requestOf, starts, steps, waits } from '../schedules.ts'
import { askTiers, calls, openTiers, tiers, traceOf, waitAfter } from '../tier-twin.ts'

// Some engines run scripts on Lua 5.4, where whole numbers are a type of their own: they overflow, and 5.0 is printed as 5.0.
// None of these engines can be had here, but their language can. What the scripts ask of a server is a table here.

const SERVER = `
struct = { pack = string.pack, unpack = string.unpack }
local values = {}
local commands = {
  GET = function(key) return values[key] or false end,
  DEL = function(key) values[key] = nil return 1 end,
  SET = function(key, value, px, ttlMs, only)
    assert(px == 'PX' and string.match(ttlMs, '^[1-9]%d*$'), 'a TTL in whole milliseconds')
    if only and (only == 'NX') == (values[key] ~= nil) then return false end
    values[key] = value
    return { ok = 'OK' }
  end,
  MGET = function(...)
    local found = {}
    for index, key in ipairs({ ... }) do found[index] = values[key] or false end
    return found
  end,
  GETRANGE = function(key, first, last)
    assert(string.match(first .. last, '^%d+$') or last == '-1', 'whole numbers')
    return string.sub(values[key] or '', first + 1, last == '-1' and -1 or last + 1)
  end,
  SETRANGE = function(key, at, text)
    assert(string.match(at, '^%d+$'), 'a whole number')
    local value = values[key] or ''
    value = value .. string.rep('\\0', at - #value)
    values[key] = string.sub(value, 1, math.tointeger(at)) .. text .. string.sub(value, at + #text + 1)
    return #values[key]
  end,
  PEXPIRE = function(key, ttlMs)
    assert(values[key] and string.match(ttlMs, '^[1-9]%d*$'), 'a TTL in whole milliseconds')
    return 1
  end,
  EXISTS = function(...)
    local count = 0
    for _, key in ipairs({ ... }) do count = count + (values[key] and 1 or 0) end
    return count
  end,
}
redis = { call = function(command, ...) return commands[command](...) end }
redis.pcall = redis.call
local function lines(text)
  local list = {}
  for line in string.gmatch(text, '[^\\n]+') do list[#list + 1] = line end
  return list
end
local scripts = {}
function run(name, text, keys, args)
  scripts[name] = scripts[name] or assert(load(text, name))
  KEYS, ARGV = lines(keys), lines(args)
  local reply = scripts[name]()
  for index = 1, #reply do assert(math.type(reply[index]) == 'integer', 'a reply of whole numbers') end
  return table.concat(reply, ' ')
end
`

let lua: LuaEngine
let run: (name: string, text: string, keys: string, args: string) => string
beforeAll(async () => {
  lua = await new LuaFactory().createEngine()
  await lua.doString(SERVER)
  run = lua.global.get('run')
})
afterAll(() => lua.global.close())

const small = fc.integer({ min: 1, max: 9 })
const limits = fc.oneof(small, fc.constantFrom(1_000_000_007, 4_503_599_627_370))
const timeMs = fc.constantFrom(250, 999)
const capacities = fc.oneof(small, fc.constant(1_000_000_007))
// The product of the longest and the largest charge does not fit into 64 bits.
const periods = fc.constantFrom(7, 1_000, 61_000)
const others = { rate: small, parts: fc.constantFrom(1, 3, 7) }
const configurations = everyRule.map(({ name, samples }) => {
  const rules = samples.modes.map((mode) => {
    const numbers = isSteady(mode) ? { limit: capacities, timeMs: periods } : { limit: limits, timeMs }
    return randomRules(mode, { ...numbers, ...others })
  })
  return [name, fc.oneof(...rules)] as const
})

let count = 0

it.each(configurations)('%s decides on Lua 5.4 as in memory', (name, rule) => {
  fc.assert(
    fc.property(rule, anything(fc.oneof(waits, steps)), starts, fc.boolean(), (of, turnList, startMs, greedy) => {
      const amounts = turnList.map((turn) => (greedy && turn.action === 'charge' ? 2 ** 53 - 1 : turn.amount))
      const turns = turnList.map((turn, index) => ({ ...turn, amount: amounts[index] as number }))
      const { source } = getScript('sluice')
      const key = `${name} ${count++}`
      for (const moment of play(of, turns, startMs, 250)) {
        if (decidesHot(of, key, moment)) continue
        const operation = operationBy(of, requestOf(moment.action, moment.amount))
        const args = [moment.nowMs, '0', of.kind, ...Object.values(of.parameters), encodeOperation(operation)].join(
          '\n',
        )
        const reply = new DecisionReply(run('sluice', source, key, args).split(' '), 1)
        expect(moment.ruling).toMatchObject(reply.result(0, operation.type) as LimitResult)
      }
    }),
    { numRuns: runs('long') },
  )
})

/** Whether the rule's hot script decides a moment, and then as in memory; or else hands it over. */
function decidesHot(rule: Rule, key: string, { action, amount, nowMs, ruling }: Moment): boolean {
  const operation = operationBy(rule, requestOf(action, amount))
  if (!isHot(operation)) return false
  const { parameters: names, source } = getScript(rule.kind)
  const parameters = names.map((parameter) => `${rule.parameters[parameter]}`)
  const args = encodeCall(parameters, nowMs, 0, [encodeCost(operation)])
  const result = new DecisionReply(run(rule.kind, source, key, args.join('\n')).split(' '), 1).result(0)
  decided[result === undefined ? 'handedOver' : 'hot']++
  if (result !== undefined) expect(ruling).toMatchObject(result)
  return result !== undefined
}

const decided = { hot: 0, handedOver: 0 }
afterAll(() => expect(decided.hot).toBeGreaterThan(decided.handedOver))

/** A server of nothing but the language, to which a store can talk. */
const connection: RedisConnection = {
  async send(_key, [, sha1, count, ...rest]) {
    const { name, source } = listScripts().find((script) => script.sha1 === sha1) as Script
    const keys = rest.slice(0, Number(count))
    return run(name, source, keys.join('\n'), rest.slice(keys.length).join('\n')).split(' ')
  },
  sendToAll: async () => 'OK',
}

it.each([
  ['that stay', false],
  ['that change between calls', true],
])('tiers of rules %s, with holds, ids and shadows, are decided on Lua 5.4 as by the frame', async (_, changes) => {
  const property = fc.asyncProperty(
    tiers(fc.constant(changes)),
    calls(fc.oneof(waits, steps)),
    starts,
    async (tierList, callList, startMs) => {
      const [frame, store] = [mapStore(), redisStore(connection, { garnetLuaTransactions: true })]
      const name = `${changes} ${count++}`
      const limits = { frame: openTiers(frame, name, tierList), store: openTiers(store, name, tierList) }
      const trace: string[] = []
      let nowMs = startMs
      for (const call of callList) {
        const expected = await askTiers(frame, limits.frame, tierList, call, nowMs)
        const seen = await askTiers(store, limits.store, tierList, call, nowMs)
        trace.push(traceOf(tierList, call, nowMs))
        if (!isDeepStrictEqual(seen, expected)) expect(seen, trace.join('\n')).toEqual(expected)
        nowMs = Math.max(0, nowMs + waitAfter(call.wait, expected))
      }
    },
  )
  await fc.assert(property, { numRuns: runs('long') })
})

it('says on Lua 5.4 what is wrong in whole numbers', () => {
  const { source } = getScript('sluice')
  const failure = (keys: string, args: string): string => {
    try {
      return run('sluice', source, keys, args)
    } catch (error) {
      return (error as Error).message
    }
  }
  const window = 'sliding-window\n100\n60000\n-'
  expect(failure('a', '0\n0\nsliding-window\n100\n60000')).toContain(
    'takes 3 parameters, - for a default, and a request, got 2',
  )
  expect(failure('a', `0\n0\n${window}\nreserve:1:1:0`)).toContain('from 1 to 315619200000, got 0')
  expect(failure('a', `0\n0\n${window}\n1\n${window}\n1`)).toContain('1 tiers take fewer arguments')
  expect(failure(Array.from({ length: 1_001 }, (_, index) => `${index}`).join('\n'), `0\n0\n${window}\n1`)).toContain(
    'KEYS must have 1 to 1000 keys, got 1001',
  )
})
