import type { Redis } from 'ioredis'
import { readFunctions, readRule } from '../scripts/lua/read-rule.mjs'
import type { AdjustResult, Rule, RuleState, StepResult } from '../src/core/rule.ts'
import type { Timeline } from '../src/rules/timeline.ts'

/** One call of a step. */
export interface Call {
  readonly rule: Rule
  readonly state: RuleState | undefined
  readonly nowMs: number
  readonly cost: number
  readonly force: boolean
  readonly takenMs: number | undefined
}

/** What a step in Lua says: it also charges and gives back, which are `adjust` in TypeScript. */
export type LuaResult = StepResult & Pick<AdjustResult, 'returned'>

/** What the rule's own TypeScript says to a call, in the words of its Lua. */
export function stepInTypeScript({ rule, state, nowMs, cost, force, takenMs }: Call): LuaResult {
  if (!force) return { ...rule.step(state, nowMs, cost), returned: 0 }
  const { state: next, returned } = rule.adjust(state, nowMs, cost, takenMs)
  const { delayMs } = rule.step(state, nowMs, 0)
  return { ...rule.step(next, nowMs, 0), retryAfterMs: 0, delayMs, returned }
}

/** What the rule's own Lua says to a call: the numbers of `rowOf`. */
export async function stepInLua(redis: Redis, { rule, state, nowMs, cost, force, takenMs }: Call): Promise<number[]> {
  const cells = state === undefined ? new Float64Array() : cellsOf(rule, state)
  const given = [nowMs, cost, force ? 1 : 0, takenMs ?? '', ...Object.values(rule.parameters)]
  const reply = (await redis.eval(scriptOf(rule), 0, Buffer.from(cells.buffer), ...given)) as string[]
  return reply.map(Number)
}

/** An outcome as numbers: wait, remaining, reset, delay and what was given back; unless it was refused, when more passes, and the next state. */
export function rowOf(
  rule: Rule,
  { retryAfterMs, remaining, resetAfterMs, nextAfterMs, delayMs, returned, state }: LuaResult,
): number[] {
  const numbers = [retryAfterMs, remaining, resetAfterMs, delayMs, returned]
  return retryAfterMs > 0 ? numbers : [...numbers, nextAfterMs, ...cellsOf(rule, state)]
}

/** A state as it is kept on Redis. */
function cellsOf(rule: Rule, state: RuleState): Float64Array {
  if (rule.codec !== undefined) {
    const row = new Float64Array(rule.codec.count)
    rule.codec.write(state, row, 0)
    return row
  }
  const { atMs, total, spanMs, older, from, to, newestCost } = state as Timeline
  return Float64Array.from(total === 0 ? [] : [atMs, total, spanMs, ...older.slice(from, to), atMs, newestCost])
}

const scripts = new Map<string, string>()

function scriptOf({ kind }: Rule): string {
  const known = scripts.get(kind)
  if (known !== undefined) return known
  const { parameters, needs, step } = readRule(kind)
  const read = parameters.map(({ choices }, index) => (choices ? `ARGV[${index + 6}]` : `tonumber(ARGV[${index + 6}])`))
  const script = [
    readFunctions('stores/redis/lua/prelude.lua'),
    needs === undefined ? '' : readFunctions(`rules/${needs}.lua`),
    step,
    "local state, takenMs = ARGV[1] ~= '' and ARGV[1] or nil, tonumber(ARGV[5])",
    'local retryAfterMs, remaining, resetAfterMs, nextAfterMs, delayMs, next, returned =',
    `  step(${read.join(', ')}, state, tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4] == '1', takenMs)`,
    'local reply = { retryAfterMs, remaining, resetAfterMs, delayMs, returned or 0 }',
    'if retryAfterMs == 0 then reply[6] = nextAfterMs end',
    "for at = 1, #(next or ''), 8 do reply[#reply + 1] = (struct.unpack('<d', next, at)) end",
    "for index, number in ipairs(reply) do reply[index] = string.format('%.17g', number) end",
    'return reply',
  ].join('\n')
  scripts.set(kind, script)
  return script
}
