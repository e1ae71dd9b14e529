import { describe, expect, it, vi } from 'vitest'
import { deferred, fallback, limitOf, plan, raise, range, setUp } from '../../test/policy-stage.ts'
import type { Rule } from '../core/rule.ts'

describe('an answer', () => {
  it('is used without a promise while it is fresh, and waited for afterwards', async () => {
    const { cache, policy, advance } = setUp(async () => plan(20))
    expect(await limitOf(cache.ruleFor('a', 'a'))).toBe(20)
    advance(99)
    expect(cache.ruleFor('a', 'a')).toMatchObject({ limit: 20 })
    expect(policy).toHaveBeenCalledTimes(1)
    advance(1)
    const refreshed = cache.ruleFor('a', 'a')
    expect(refreshed).toBeInstanceOf(Promise)
    expect(await limitOf(refreshed)).toBe(20)
    expect(policy).toHaveBeenCalledTimes(2)
  })

  it('that was changed is in force after freshMs at the latest, counted from the start of the look-up', async () => {
    const plans = [deferred<Rule>(), deferred<Rule>()]
    const { cache, policy, advance } = setUp(() => plans[policy.mock.calls.length - 1]?.promise)
    const first = cache.ruleFor('a', 'a')
    advance(40)
    plans[0]?.resolve(plan(20))
    expect(await limitOf(first)).toBe(20)
    advance(59)
    expect(cache.ruleFor('a', 'a')).toMatchObject({ limit: 20 })
    advance(1)
    plans[1]?.resolve(plan(30))
    expect(await limitOf(cache.ruleFor('a', 'a'))).toBe(30)
  })

  it('of undefined stands for the default rule, also after another', async () => {
    const answers = [undefined, plan(20), undefined]
    const { cache, failures, advance } = setUp(async () => answers.shift())
    expect(await cache.ruleFor('a', 'a')).toBe(fallback)
    advance(100)
    expect(await limitOf(cache.ruleFor('a', 'a'))).toBe(20)
    advance(100)
    expect(await cache.ruleFor('a', 'a')).toBe(fallback)
    expect(cache.ruleFor('a', 'a')).toBe(fallback)
    expect(failures).toEqual([])
  })

  it('needs no promise at all when the policy needs none, and no timer', () => {
    const { cache, policy, timers, advance } = setUp((subject) => (subject === 'b' ? undefined : plan(20)))
    expect(cache.ruleFor('a', 'a')).toMatchObject({ limit: 20 })
    expect(cache.ruleFor('b', 'b')).toBe(fallback)
    cache.ruleFor('a', 'a')
    expect(policy).toHaveBeenCalledTimes(2)
    advance(100)
    cache.ruleFor('a', 'a')
    expect(policy).toHaveBeenCalledTimes(3)
    expect(timers.started).toBe(0)
  })

  it('may come from anything that has a then', async () => {
    // biome-ignore lint/suspicious/noThenProperty: query builders are such objects
    const query = { then: (resolve: (rule: Rule) => void) => resolve(plan(20)) }
    const { cache } = setUp(() => query as never)
    expect(await limitOf(cache.ruleFor('a', 'a'))).toBe(20)
  })

  it('belongs to one subject, which the policy is given as it was', async () => {
    const { cache, policy } = setUp(async (subject) => plan(subject === 'a' ? 20 : 30))
    const subject = { kind: 'ip', name: '::1' }
    expect(await limitOf(cache.ruleFor('ip~::1', subject))).toBe(30)
    expect(await limitOf(cache.ruleFor('a', 'a'))).toBe(20)
    expect(policy.mock.calls).toEqual([[subject], ['a']])
    expect(policy.mock.calls[0]?.[0]).toBe(subject)
  })

  it('is not fresh when the clock was set back behind it', () => {
    const { cache, policy, clock } = setUp(() => plan(20))
    cache.ruleFor('a', 'a')
    clock.set(999)
    cache.ruleFor('a', 'a')
    expect(policy).toHaveBeenCalledTimes(2)
  })
})

describe('a look-up', () => {
  it('is shared by all callers of that time, with any number of other subjects', async () => {
    const gate = deferred<void>()
    const { cache, policy } = setUp((subject) => gate.promise.then(() => plan(subject === 'a' ? 20 : 30)))
    const askers = [cache.ruleFor('a', 'a')]
    const others = range(1_000).map((name) => cache.ruleFor(name, name))
    askers.push(cache.ruleFor('a', 'a'), cache.ruleFor('a', 'a'))
    expect(policy).toHaveBeenCalledTimes(1_001)
    gate.resolve()
    expect(await Promise.all(askers.map(limitOf))).toEqual([20, 20, 20])
    expect(new Set(await Promise.all(others.map(limitOf)))).toEqual(new Set([30]))
  })

  it('of a known subject is shared too', async () => {
    const { cache, policy, advance } = setUp(async () => plan(20 + policy.mock.calls.length))
    await cache.ruleFor('a', 'a')
    advance(100)
    const askers = [cache.ruleFor('a', 'a'), cache.ruleFor('a', 'a')]
    expect(await Promise.all(askers.map(limitOf))).toEqual([22, 22])
  })

  it('that asks for its own subject gets the last known rule, and does not ask itself without end', () => {
    const inner: (Rule | Promise<Rule>)[] = []
    const { cache, policy, advance } = setUp((subject) => {
      inner.push(cache.ruleFor('a', subject))
      return plan(20)
    })
    expect(cache.ruleFor('a', 'a')).toMatchObject({ limit: 20 })
    advance(100)
    cache.ruleFor('a', 'a')
    expect(inner).toEqual([fallback, expect.objectContaining({ limit: 20 })])
    expect(policy).toHaveBeenCalledTimes(2)
  })
})

describe('the room for subjects', () => {
  it('is never exceeded: of 10,000 subjects 100 are remembered, the last ones', () => {
    const { cache, policy } = setUp(() => plan(20), { maxSubjects: 100 })
    const names = range(10_000)
    for (const name of names) cache.ruleFor(name, name)
    expect(policy).toHaveBeenCalledTimes(10_000)
    for (const name of names.slice(-100)) cache.ruleFor(name, name)
    expect(policy).toHaveBeenCalledTimes(10_000)
    cache.ruleFor(names.at(-101) as string, 'forgotten')
    expect(policy).toHaveBeenCalledTimes(10_001)
  })

  it('is taken from the subject that was used least recently', () => {
    const { cache, asked } = setUp(() => plan(20), { maxSubjects: 3 })
    for (const name of ['a', 'b', 'c', 'a', 'd', 'a', 'c', 'e', 'a', 'c', 'd']) cache.ruleFor(name, name)
    expect(asked()).toBe('abcded')
  })

  it('keeps the busy one of 10,000 that pass through', () => {
    const { cache, policy } = setUp(() => plan(20), { maxSubjects: 100 })
    for (const name of range(10_000)) for (const asked of [name, 'busy']) cache.ruleFor(asked, asked)
    expect(policy).toHaveBeenCalledTimes(10_001)
  })

  it('counts a subject that is looked up again once, and as just used', () => {
    const { cache, asked, advance } = setUp(() => plan(20), { maxSubjects: 2 })
    for (const name of ['a', 'b']) cache.ruleFor(name, name)
    advance(100)
    for (const name of ['b', 'a', 'c', 'a', 'b']) cache.ruleFor(name, name)
    expect(asked()).toBe('abbacb')
  })
})

describe('forgetting', () => {
  it.each<[string | undefined, string]>([
    ['a', 'aba'],
    [undefined, 'abab'],
  ])('%j causes new look-ups', (key, expected) => {
    const { cache, asked } = setUp(() => plan(20))
    for (const name of ['a', 'b']) cache.ruleFor(name, name)
    cache.forget(key)
    for (const name of ['a', 'b']) cache.ruleFor(name, name)
    expect(asked()).toBe(expected)
  })

  it.each(['a', undefined])('%j while a look-up is under way keeps its answer from being remembered', async (key) => {
    const answers = [deferred<Rule>(), deferred<Rule>()]
    const { cache, policy } = setUp(() => answers[policy.mock.calls.length - 1]?.promise)
    const before = cache.ruleFor('a', 'a')
    cache.forget(key)
    const after = cache.ruleFor('a', 'a')
    answers[1]?.resolve(plan(30))
    expect(await limitOf(after)).toBe(30)
    answers[0]?.resolve(plan(20))
    expect(await limitOf(before)).toBe(20)
    expect(cache.ruleFor('a', 'a')).toMatchObject({ limit: 30 })
    expect(policy).toHaveBeenCalledTimes(2)
  })

  it('includes the last known rule', () => {
    const answers = [() => plan(20), () => raise(new Error('no'))]
    const { cache } = setUp(() => answers.shift()?.())
    cache.ruleFor('a', 'a')
    cache.forget('a')
    expect(cache.ruleFor('a', 'a')).toBe(fallback)
  })
})

describe('rules of equal parameters', () => {
  it('are one object, the default rule included', async () => {
    const { cache, advance } = setUp(async (subject) => plan(subject === 'default' ? 10 : 20))
    const first = await cache.ruleFor('a', 'a')
    expect(await cache.ruleFor('b', 'b')).toBe(first)
    advance(100)
    expect(await cache.ruleFor('a', 'a')).toBe(first)
    expect(await cache.ruleFor('default', 'default')).toBe(fallback)
    expect(await cache.ruleFor('c', 'c')).toBe(first)
  })

  it('stay one object as long as a subject has them, and no longer', () => {
    const { cache } = setUp((subject) => plan(Number(subject)), { maxSubjects: 4 })
    const limitIs = (limit: number, key = `${limit}`) => cache.ruleFor(key, `${limit}`)
    const busy = limitIs(500)
    const gone = limitIs(501)
    for (let limit = 1; limit < 100; limit++) {
      limitIs(limit)
      expect(limitIs(500)).toBe(busy)
    }
    expect(limitIs(500, 'another')).toBe(busy)
    expect(limitIs(10, 'default')).toBe(fallback)
    expect(limitIs(501)).not.toBe(gone)
  })

  it('of the default stay the default, however many others a subject has had', () => {
    const plans = [...range(50).map((name) => plan(100 + Number(name))), plan(10)]
    const { cache, advance } = setUp(() => plans.shift(), { maxSubjects: 2 })
    for (let round = 0; round < 50; round++) {
      expect(cache.ruleFor('a', 'a')).toMatchObject({ limit: 100 + round })
      advance(100)
    }
    expect(cache.ruleFor('a', 'a')).toBe(fallback)
  })

  it('stay one object also while a subject that had to make room is looked up', async () => {
    const answer = deferred<Rule>()
    const { cache, advance } = setUp((subject) => (subject === 'slow' ? answer.promise : plan(Number(subject))), {
      maxSubjects: 2,
    })
    const held = cache.ruleFor('a', '500')
    advance(100)
    const waiting = cache.ruleFor('a', 'slow')
    for (const limit of range(50)) cache.ruleFor(limit, `1${limit}`)
    expect(cache.ruleFor('b', '500')).toBe(held)
    answer.reject(new Error('no'))
    expect(await waiting).toBe(held)
  })

  it('are looked through rarely, even when a thousand that differ are under way at once', async () => {
    const gate = deferred<void>()
    const { cache } = setUp((subject) => gate.promise.then(() => plan(Number(subject) + 1)))
    const waiting = range(1_000).map((name) => cache.ruleFor(name, name))
    const made = vi.spyOn(Set.prototype, 'add')
    gate.resolve()
    const limits = await Promise.all(waiting.map(limitOf))
    const steps = made.mock.calls.length
    made.mockRestore()
    expect(limits).toEqual(range(1_000).map((name) => Number(name) + 1))
    expect(steps).toBeLessThan(50_000)
  })
})
