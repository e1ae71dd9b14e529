import type { Operation } from '../../core/operation.ts'
import type { Rule } from '../../core/rule.ts'
import type { RuleTexts } from './rule-texts.ts'
import { FULL_SCRIPT, type Script, TIERS_SCRIPT } from './script-catalog.ts'
import { encodeCommand } from './script-runner.ts'
import { encodeCall, encodeCost, encodeOperation } from './wire.ts'

/** The keys of one limit, as scripts take them. */
export interface EncodedKeyspace {
  /** What a key is called on the server. */
  nameKey(key: string): string
  /** A rule as the scripts take it. */
  encodeTexts(rule: Rule): RuleTexts
}

/** A call in a batch: an operation for each of its keyspaces. */
export interface BatchedCall {
  readonly operations: readonly Operation[]
  /** What its first key is called on the server. */
  readonly name: string
  /** Where its results start in the script's reply. Encoding sets it. */
  place: number
  /** The next call on the same key, for a rule's hot script. Encoding sets it. */
  next: BatchedCall | undefined
}

/** Calls on the same limits, by the same rules and at one time, as the command of a script. */
export function encodeBatch(
  script: Script,
  keyspaces: readonly EncodedKeyspace[],
  nowMs: number,
  calls: readonly BatchedCall[],
): readonly string[] {
  if (script !== FULL_SCRIPT && script !== TIERS_SCRIPT) return encodeRuns(script, keyspaces, nowMs, calls)
  const names: string[] = []
  const decisions: (readonly Operation[])[] = []
  for (const call of calls) {
    const { operations, name } = call
    call.place = names.length
    names.push(name)
    for (let index = 1; index < operations.length; index++) {
      names.push((keyspaces[index] as EncodedKeyspace).nameKey((operations[index] as Operation).key))
    }
    decisions.push(operations)
  }
  const isTiers = script === TIERS_SCRIPT
  const args = isTiers
    ? encodeTiers(keyspaces, nowMs, decisions)
    : encodeFull(keyspaces, nowMs, decisions, `${calls.length}*`)
  return encodeCommand(script, names, args)
}

/** For a rule's hot script: calls on one key stand together, and equal costs one right after the other are written once. */
function encodeRuns(
  script: Script,
  [keyspace]: readonly EncodedKeyspace[],
  nowMs: number,
  calls: readonly BatchedCall[],
): readonly string[] {
  const names: string[] = []
  const costs: string[] = []
  let place = 0
  for (const first of calls.length === 1 ? calls : linkRuns(calls)) {
    let times = 0
    for (let call: BatchedCall | undefined = first; call !== undefined; call = call.next) {
      const operation = call.operations[0] as Operation
      const next = call.next?.operations[0]
      call.place = place++
      times++
      if (next !== undefined && next.amount === operation.amount && next.type === operation.type) continue
      const cost = encodeCost(operation)
      names.push(call.name)
      costs.push(times === 1 ? cost : `${times}*${cost}`)
      times = 0
    }
  }
  const [{ rule, blockMs }] = (calls[0] as BatchedCall).operations as [Operation]
  const { hot } = (keyspace as EncodedKeyspace).encodeTexts(rule)
  return encodeCommand(script, names, encodeCall(hot, nowMs, blockMs, costs))
}

/** Links the calls on each key, and returns the first of each key. */
function linkRuns(calls: readonly BatchedCall[]): readonly BatchedCall[] {
  const firsts: BatchedCall[] = []
  const lasts = new Map<string, BatchedCall>()
  for (const call of calls) {
    const { key } = call.operations[0] as Operation
    const last = lasts.get(key)
    call.next = undefined
    if (last === undefined) firsts.push(call)
    else last.next = call
    lasts.set(key, call)
  }
  return firsts
}

/** For the hot script of several limits: costs that all decisions have in common are written once. */
function encodeTiers(
  keyspaces: readonly EncodedKeyspace[],
  nowMs: number,
  decisions: readonly (readonly Operation[])[],
): string[] {
  const [first] = decisions as readonly [readonly Operation[]]
  const args = [`${nowMs}`, `${decisions.length}`]
  for (const [index, { rule, blockMs }] of first.entries()) {
    args.push(rule.kind, ...(keyspaces[index] as EncodedKeyspace).encodeTexts(rule).hot, `${blockMs}`)
  }
  const costs: string[] = []
  let areShared = true
  for (const operations of decisions) {
    for (const [index, operation] of operations.entries()) {
      const cost = encodeCost(operation)
      costs.push(cost)
      areShared &&= cost === costs[index]
    }
  }
  args.push(...(areShared ? costs.slice(0, first.length) : costs))
  return args
}

/** For the full script. */
export function encodeFull(
  keyspaces: readonly EncodedKeyspace[],
  nowMs: number,
  decisions: readonly (readonly Operation[])[],
  how: string,
): string[] {
  const [first, ...others] = decisions as readonly [readonly Operation[], ...(readonly Operation[])[]]
  const args = [`${nowMs}`, how]
  for (const [index, operation] of first.entries()) {
    args.push(...(keyspaces[index] as EncodedKeyspace).encodeTexts(operation.rule).full, encodeOperation(operation))
  }
  for (const operations of others) args.push(...operations.map(encodeOperation))
  return args
}
