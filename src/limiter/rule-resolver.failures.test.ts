import { describe, expect, it, vi } from 'vitest'
import { deferred, fallback, limitOf, nextTurn, plan, raise, setUp } from '../../test/policy-stage.ts'
import type { Rule } from '../core/rule.ts'
import { slidingWindow } from '../rules/sliding-window/sliding-window.ts'
import { tokenBucket } from '../rules/token-bucket/token-bucket.ts'
import type { ResolveRule as Policy } from './rule-resolver.ts'

describe('a policy that fails', () => {
  const broken = new Error('no database')
  const failing: [string, Policy][] = [
    ['rejects', () => Promise.reject(broken)],
    ['throws', () => raise(broken)],
  ]

  it.each(failing)('and %s leaves the default rule, is reported, and is left alone for freshMs', async (_, policy) => {
    const { cache, policy: asked, failures, advance } = setUp(policy)
    const subject = { kind: 'user', name: '7' }
    expect(await cache.ruleFor('user~7', subject)).toBe(fallback)
    expect(failures).toEqual([[broken, subject]])
    advance(99)
    expect(cache.ruleFor('user~7', subject)).toBe(fallback)
    expect(asked).toHaveBeenCalledTimes(1)
    advance(1)
    await cache.ruleFor('user~7', subject)
    expect(asked).toHaveBeenCalledTimes(2)
    expect(failures).toHaveLength(2)
  })

  it.each(failing)('and %s leaves a subject its last known rule until it works again', async (_, fails) => {
    const answers: Policy[] = [() => plan(20), fails, fails, () => plan(30)]
    const { cache, failures, advance } = setUp((subject) => answers.shift()?.(subject))
    const seen: number[] = []
    for (let round = 0; round < 4; round++) {
      seen.push(await limitOf(cache.ruleFor('a', 'a')))
      advance(100)
    }
    expect(seen).toEqual([20, 20, 20, 30])
    expect(failures).toHaveLength(2)
  })

  it('is left alone for freshMs from its failure, not from its start', async () => {
    const answer = deferred<Rule>()
    const { cache, policy, advance } = setUp(() => answer.promise)
    const waiting = cache.ruleFor('a', 'a')
    advance(80)
    answer.reject(broken)
    await waiting
    advance(99)
    expect(cache.ruleFor('a', 'a')).toBe(fallback)
    advance(1)
    cache.ruleFor('a', 'a')
    expect(policy).toHaveBeenCalledTimes(2)
  })

  it('is reported when its consequences are in force', async () => {
    const answer = deferred<Rule>()
    const standing: unknown[] = []
    // Once only: a cache that would ask again must fail the test, not keep it busy for ever.
    const onFailure = () => standing.length === 0 && standing.push(cache.ruleFor('a', 'a'))
    const { cache, advance } = setUp(() => answer.promise, { onFailure })
    const waiting = cache.ruleFor('a', 'a')
    advance(100)
    answer.reject(broken)
    await waiting
    expect(standing).toEqual([fallback])
  })

  it('together with the clock does not stay in the way when both are mended', async () => {
    const answers = [Promise.reject(broken), Promise.resolve(plan(20))]
    const { cache, clock, advance } = setUp(() => answers.shift())
    const waiting = cache.ruleFor('a', 'a')
    vi.spyOn(clock, 'nowMs').mockImplementationOnce(() => raise(new Error('no time')))
    await expect(waiting).rejects.toThrow('no time')
    advance(100)
    expect(await limitOf(cache.ruleFor('a', 'a'))).toBe(20)
  })

  const noRule =
    "resolveRule must return a rule such as slidingWindow({ limit: 100, window: '1m' }), or undefined for the default"
  it.each<[unknown, string]>([
    [null, `${noRule}, got null`],
    [100, `${noRule}, got 100`],
    ['gold', `${noRule}, got "gold"`],
    [slidingWindow, `${noRule}, got a function`],
    [{ limit: 5, windowMs: 10 }, `${noRule}, got an object`],
    [{ ...fallback, step: undefined }, `${noRule}, got an object`],
    [{ ...fallback, identity: undefined }, `${noRule}, got an object`],
    [{ ...fallback, parameters: undefined }, `${noRule}, got an object`],
    [{ ...fallback, parameters: null }, `${noRule}, got an object`],
    [
      tokenBucket({ capacity: 1, refill: 1, period: 1 }),
      'resolveRule must return a rule of the limiter\'s kind, "sliding-window@1", got "token-bucket@1"',
    ],
    [
      { ...fallback, stateName: undefined },
      'resolveRule must return a rule of the limiter\'s kind, "sliding-window@1", got undefined',
    ],
  ])('by its answer is reported: %#', async (wrong, message) => {
    for (const wrongly of [() => wrong, async () => wrong]) {
      const answers = [() => plan(20), wrongly] as Policy[]
      const { cache, policy, failures, advance } = setUp((subject) => answers.shift()?.(subject))
      cache.ruleFor('a', 'a')
      advance(100)
      expect(await limitOf(cache.ruleFor('a', 'a'))).toBe(20)
      expect(cache.ruleFor('a', 'a')).toMatchObject({ limit: 20 })
      expect(policy).toHaveBeenCalledTimes(2)
      const error = expect.objectContaining({ name: 'LimiterError', code: 'INVALID_OPTION', message })
      expect(failures).toEqual([[error, 'a']])
    }
  })
})

describe('a policy that does not answer', () => {
  it('is waited for until timeoutMs, and reported once', async () => {
    const answer = deferred<Rule>()
    const { cache, policy, failures, advance } = setUp(() => answer.promise, { timeoutMs: 50 })
    const askers = [cache.ruleFor('a', 'a'), cache.ruleFor('a', 'a')]
    advance(49)
    await nextTurn()
    expect(failures).toEqual([])
    advance(1)
    expect(await Promise.all(askers)).toEqual([fallback, fallback])
    const message = 'resolveRule must answer within 50 ms, got no answer'
    expect(failures).toEqual([[expect.objectContaining({ code: 'INVALID_OPTION', message }), 'a']])
    advance(99)
    expect(cache.ruleFor('a', 'a')).toBe(fallback)
    answer.reject(new Error('too late to matter'))
    await nextTurn()
    expect(failures).toHaveLength(1)
    expect(policy).toHaveBeenCalledTimes(1)
  })

  it('is waited for a second by default', async () => {
    const { cache, failures, advance } = setUp(() => new Promise(() => {}))
    const waiting = cache.ruleFor('a', 'a')
    advance(999)
    await nextTurn()
    expect(failures).toEqual([])
    advance(1)
    expect(await waiting).toBe(fallback)
  })

  it('calls its timer off when it answers or fails in time', async () => {
    const { cache, timers } = setUp(async (subject) => (subject === 'a' ? plan(20) : raise(new Error('no'))))
    await Promise.all([cache.ruleFor('a', 'a'), cache.ruleFor('b', 'b')])
    expect(timers).toMatchObject({ started: 2, running: new Set() })
  })

  it('in time is used from its late answer on, and asked again when it would have been', async () => {
    const answer = deferred<Rule>()
    const { cache, policy, advance } = setUp(() => answer.promise, { timeoutMs: 50 })
    const waiting = cache.ruleFor('a', 'a')
    advance(50)
    expect(await waiting).toBe(fallback)
    advance(90)
    answer.resolve(plan(20))
    await nextTurn()
    expect(cache.ruleFor('a', 'a')).toMatchObject({ limit: 20 })
    advance(9)
    expect(cache.ruleFor('a', 'a')).toMatchObject({ limit: 20 })
    advance(1)
    cache.ruleFor('a', 'a')
    expect(policy).toHaveBeenCalledTimes(2)
  })

  it('does not bring an old answer back after a newer one', async () => {
    const answers = [deferred<Rule>(), deferred<Rule>(), deferred<Rule>()]
    const { cache, policy, advance } = setUp(() => answers[policy.mock.calls.length - 1]?.promise, { timeoutMs: 50 })
    for (let round = 0; round < 2; round++) {
      const waiting = cache.ruleFor('a', 'a')
      advance(50)
      await waiting
      advance(100)
    }
    const third = cache.ruleFor('a', 'a')
    answers[1]?.resolve(plan(22))
    await nextTurn()
    answers[0]?.resolve(plan(21))
    answers[2]?.reject(new Error('no'))
    expect(await limitOf(third)).toBe(22)
    expect(cache.ruleFor('a', 'a')).toMatchObject({ limit: 22 })
  })
})
