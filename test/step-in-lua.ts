import type { Redis } from 'ioredis'
import { assemble } from '../scripts/lua/assemble.mjs'
import type { AdjustResult, Rule, RuleState, StepResult } from '../src/core/rule.ts'
import type { Timeline } from '../src/rules/timeline-view.ts'

/** One call of a step. */
export interface Call {
  readonly rule: Rule
  readonly state: RuleState | undefined
  readonly nowMs: number
  readonly cost: number
  readonly force: boolean
  readonly takenMs: number | undefined
}

/** What a step in Lua says: it also charges and refunds, which are `adjust` in TypeScript. */
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
  const given = [nowMs, cost, force ? 1 : 0, takenMs ?? '', rule.kind, ...Object.values(rule.parameters)]
  const reply = (await redis.eval(SCRIPT, 0, Buffer.from(cells.buffer), ...given)) as string[]
  const numbers = reply.map(Number)
  return rule.codec === undefined ? [...numbers.slice(0, 6), ...costsOf(numbers.slice(6))] : numbers
}

/** An outcome as numbers: wait, remaining, reset, delay and what was refunded; unless it was refused, when more passes, and the next state. */
export function rowOf(
  rule: Rule,
  { retryAfterMs, remaining, resetAfterMs, nextAfterMs, delayMs, returned, state }: LuaResult,
): number[] {
  const numbers = [retryAfterMs, remaining, resetAfterMs, delayMs, returned]
  if (retryAfterMs > 0) return numbers
  const cells = [...cellsOf(rule, state)]
  return [...numbers, nextAfterMs, ...(rule.codec === undefined ? costsOf(cells) : cells)]
}

/** A state as it is kept on Redis. */
function cellsOf(rule: Rule, state: RuleState): Float64Array {
  if (rule.codec !== undefined) {
    const row = new Float64Array(rule.codec.count)
    rule.codec.write(state, row, 0)
    return row
  }
  const { atMs, total, spanMs, older, from, to, newestCost, past } = state as Timeline
  if (total === 0) return new Float64Array()
  const cells = [atMs, 0, spanMs]
  let before = 0
  for (const run of [...past.runs, { older, from, to, sum: total - newestCost - past.sum }]) {
    // The sums of a run have any beginning, and end with its own.
    const least = (run.older[run.to - 1] ?? 0) - run.sum
    for (let at = run.from; at < run.to; at += 2) {
      cells.push(run.older[at] as number, before + (run.older[at + 1] as number) - least)
    }
    before += run.sum
  }
  return Float64Array.from([...cells, atMs, total])
}

/** The cells of a timeline with a cost in the place of each sum, and none before the first. */
function costsOf([atMs, base = 0, spanMs, ...pairs]: readonly number[]): readonly number[] {
  if (atMs === undefined) return []
  const costs = pairs.map((value, index) =>
    index % 2 === 0 ? value : value - (index === 1 ? base : (pairs[index - 2] as number)),
  )
  return [atMs, 0, spanMs as number, ...costs]
}

/** The full script up to where the rules end and the reservations begin. */
function rulesOf(source: string): string {
  const end = source.indexOf('\nlocal function readNumber(')
  if (end < 0) throw new Error('the full script has no readNumber, with which its reservations begin')
  return source.slice(0, end)
}

const SCRIPT = [
  rulesOf(assemble('sluice', 1)),
  'local rule, takenMs = readRule(ARGV[6], ARGV, 7), tonumber(ARGV[5])',
  "local state = ARGV[1] ~= '' and rule.read(ARGV[1], 1) or nil",
  'local retryAfterMs, remaining, resetAfterMs, nextAfterMs, delayMs, next, returned =',
  "  step(rule, state, tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4] == '1', takenMs)",
  'local reply = { retryAfterMs, remaining, resetAfterMs, delayMs, returned or 0 }',
  'if retryAfterMs == 0 then reply[6] = nextAfterMs end',
  "local cells = next and rule.write(next, '') or ''",
  "for at = 1, #cells, 8 do reply[#reply + 1] = (struct.unpack('<d', cells, at)) end",
  "for index, number in ipairs(reply) do reply[index] = string.format('%.17g', number) end",
  'return reply',
].join('\n')
