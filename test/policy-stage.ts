import { type Mock, vi } from 'vitest'
import type { Subject } from '../src/core/key.ts'
import type { Rule } from '../src/core/rule.ts'
import { type ResolveRule as Policy, type PolicyCacheOptions, RuleResolver } from '../src/limiter/rule-resolver.ts'
import { slidingWindow } from '../src/rules/sliding-window/sliding-window.ts'
import { type ManualClock, manualClock } from '../src/testing/manual-clock.ts'

/** A plan of this many requests a minute. */
export const plan = (limit: number): Rule => slidingWindow({ limit, window: 60_000 })
/** What a subject has when the policy has nothing for it. */
export const fallback: Rule = plan(10)

/** What a test of the cache works with. */
export interface Stage {
  readonly cache: RuleResolver
  readonly policy: Mock<Policy>
  readonly clock: ManualClock
  readonly failures: [unknown, Subject][]
  readonly timers: { started: number; readonly running: Set<{ atMs: number; ring: () => void }> }
  advance(byMs: number): void
  asked(): string
}

interface Deferred<Value> {
  readonly promise: Promise<Value>
  resolve(value: Value): void
  reject(error: Error): void
}

/** A cache with a policy that counts its calls, a clock and a timer that stand still, and the failures so far. */
export function setUp(script: Policy, options: Partial<PolicyCacheOptions> = {}): Stage {
  const clock = manualClock(1_000)
  const policy = vi.fn(script)
  const failures: [unknown, Subject][] = []
  const timers: Stage['timers'] = { started: 0, running: new Set() }
  const cache = new RuleResolver({
    resolveRule: policy,
    fallback,
    freshMs: 100,
    maxSubjects: 10,
    nowMs: () => clock.nowMs(),
    timer(afterMs, ring) {
      const timer = { atMs: clock.nowMs() + afterMs, ring }
      timers.started++
      timers.running.add(timer)
      return () => timers.running.delete(timer)
    },
    onFailure: (error, subject) => failures.push([error, subject]),
    ...options,
  })
  const advance = (byMs: number) => {
    clock.advance(byMs)
    for (const timer of timers.running) {
      if (timer.atMs <= clock.nowMs() && timers.running.delete(timer)) timer.ring()
    }
  }
  return { cache, policy, clock, failures, timers, advance, asked: () => policy.mock.calls.join('') }
}

/** A promise and what settles it. */
export function deferred<Value>(): Deferred<Value> {
  let resolve: (value: Value) => void = () => {}
  let reject: (error: Error) => void = () => {}
  const promise = new Promise<Value>((...both) => {
    ;[resolve, reject] = both
  })
  return { promise, resolve, reject }
}

/** The limit of a rule that may take its time. */
export async function limitOf(rule: Rule | Promise<Rule>): Promise<number> {
  return (await rule).limit
}

/** This many names. */
export function range(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${index}`)
}

/** Throws, where an expression is wanted. */
export function raise(error: Error): never {
  throw error
}

/** Lets all promises settle. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
