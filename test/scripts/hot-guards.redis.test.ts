import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Rule } from '../../src/core/rule.ts'
import { getScript } from '../../src/stores/redis/script-catalog.ts'
import { encodeOperation } from '../../src/stores/redis/wire.ts'
import { type Action, operationBy } from '../open-limit.ts'
import { everyMode, GOOD, ruleOf } from '../rule-registry.ts'
import { useServer } from '../servers/shared-servers.ts'
import { doubles, errorOf } from './wrong-requests.ts'

// What a hot script does not recognise it hands over: -3, and nothing is written. The other keys of the call are decided.

let redis: Redis
beforeAll(async () => {
  const { port, host } = await useServer()
  redis = new Redis(port, host)
})
afterAll(() => redis.quit())
afterEach(() => redis.flushall())

const NOW_MS = 1_700_000_000_000
const HANDED_OVER = [-3, 0, 0, 0]
const modes = everyMode.map((mode) => [mode.title, ruleOf(mode, GOOD), mode] as const)

const parametersOf = (rule: Rule, names: readonly string[]): string[] => names.map((name) => `${rule.parameters[name]}`)

function runHot(rule: Rule, keys: readonly string[], costs: readonly string[], nowMs = NOW_MS, blockMs = 0) {
  const { source, parameters } = getScript(rule.kind)
  const args = [...parametersOf(rule, parameters), `${nowMs}`, `${blockMs}`, ...costs]
  return redis.eval(source, keys.length, ...keys, ...args) as Promise<number[]>
}

function runFull(rule: Rule, action: Action, nowMs = NOW_MS): Promise<unknown> {
  const text = encodeOperation(operationBy(rule, action))
  const args = [`${nowMs}`, '0', rule.kind, ...Object.values(rule.parameters), text]
  return redis.eval(getScript('sluice').source, 1, 'a', ...args)
}

/** Asks of a key between two others, and expects that just this is handed over and stays as it is. */
async function expectHandedOver(
  rule: Rule,
  nowMs = NOW_MS,
  costs: readonly string[] = ['1', '-1', '3*1'],
): Promise<void> {
  const before = (await redis.exists('a')) === 1 ? await redis.dumpBuffer('a') : undefined
  for (const cost of costs) {
    const reply = await runHot(rule, [`x${nowMs}`, 'a', `y${nowMs}`], ['1', cost, '1'], nowMs)
    const times = /^\d{1,4}(?=\*\d)/.exec(cost)?.[0] ?? '1'
    const expected = Array.from({ length: Number(times) }, () => HANDED_OVER).flat()
    expect(reply.slice(3, -3), `${cost} of ${reply}`).toEqual(expected)
    expect([reply[0], reply.at(-3)].every((remaining) => Number(remaining) >= 0)).toBe(true)
    await redis.del(`x${nowMs}`, `y${nowMs}`)
  }
  const after = (await redis.exists('a')) === 1 ? await redis.dumpBuffer('a') : undefined
  expect(after?.toString('hex')).toBe(before?.toString('hex'))
}

describe.each(modes)('the hot script of %s hands over', (_, rule, mode) => {
  it('a key with holds, and decides it again when they have gone', async () => {
    await runFull(rule, { type: 'reserve', amount: 1, holdId: 7, holdMs: 100 })
    await expectHandedOver(rule)
    await runFull(rule, { type: 'block', amount: 1_000 })
    await expectHandedOver(rule)
    await runFull(rule, { type: 'reset' })
    expect((await runHot(rule, ['a'], ['1']))[0]).toBe(rule.limit - 1)
  })

  it('a state that other parameters have counted', async () => {
    const other = ruleOf(mode, { ...GOOD, timeMs: 2_000, parts: 5, rate: 7 })
    await runFull(other, { type: 'consume', amount: 1 })
    await expectHandedOver(rule)
  })

  it('a state and a block that are ahead of the clock', async () => {
    await runFull(rule, { type: 'consume', amount: 1 })
    await expectHandedOver(rule, NOW_MS - 1_000)
    await runFull(rule, { type: 'reset' })
    await runFull(rule, { type: 'block', amount: 10_000 })
    await expectHandedOver(rule, NOW_MS - 1)
  })

  it('a state that says which rule has counted it', async () => {
    await runHot(rule, ['a'], ['1'])
    const state = (await redis.getBuffer('a')) as Buffer
    await redis.set('a', Buffer.concat([doubles(-0.5, 8), Buffer.from('some rul'), state]))
    await expectHandedOver(rule)
  })

  it('a value that is not a state', async () => {
    const values = ['', 'a session', 'x'.repeat(24), 'x'.repeat(32), 'x'.repeat(40), doubles(-1.5, 1, 1, 1, 1, 1)]
    for (const value of values) {
      await redis.set('a', value)
      await expectHandedOver(rule)
    }
  })

  it('a state or a block with a number that cannot be', async () => {
    await runHot(rule, ['a'], ['1'])
    await runHot(rule, ['a'], ['2'], NOW_MS + 1)
    await runFull(rule, { type: 'block', amount: 10_000 }, NOW_MS + 1)
    const value = (await redis.getBuffer('a')) as Buffer
    for (const start of [0, 24]) {
      for (let at = start; at < value.length; at += 8) {
        // A number that is -1 may be one of minus something; one that is 0 may be a count.
        for (const number of [Number.NaN, Number.POSITIVE_INFINITY, 0.5, 1e300]) {
          const broken = Buffer.from(value.subarray(start))
          broken.writeDoubleLE(number, at - start)
          await redis.set('a', broken)
          await expectHandedOver(rule, NOW_MS + 2, [`${rule.limit}`])
        }
      }
      for (let size = 1; size < value.length - start; size++) {
        if (start === 0 && size === 24) continue
        await redis.set('a', value.subarray(start, start + size))
        await expectHandedOver(rule, NOW_MS + 2, ['1'])
      }
    }
  })

  it('a key of another type, which alone is an error', async () => {
    await redis.rpush('a', 'an entry')
    await expectHandedOver(rule)
    expect(await errorOf(runHot(rule, ['a'], ['1']))).toMatch(/^WRONGTYPE /)
  })

  it('a value that is not a cost, and a cost that never passes', async () => {
    const costs = [
      '0',
      '-0',
      '1.5',
      '-1.5',
      'nan',
      'inf',
      '-inf',
      '1e300',
      'x',
      '',
      '1*',
      '*1',
      '2 * 1',
      '10001*1',
      '1*x',
    ]
    for (const cost of [...costs, `${rule.limit + 1}`, `-${rule.limit + 1}`])
      await expectHandedOver(rule, NOW_MS, [cost])
    expect(await redis.exists('a')).toBe(0)
  })

  it('what is behind it on the same key', async () => {
    const reply = await runHot(rule, ['a', 'a', 'b', 'b'], [`${rule.limit + 1}`, '1', '1', '1'])
    expect(reply.slice(0, 8)).toEqual([...HANDED_OVER, ...HANDED_OVER])
    expect(await redis.exists('a')).toBe(0)
    // One that waits for its turn has a status before what remains.
    const second = Number(reply[11]) < 0 ? reply[12] : reply[11]
    expect([reply[8], second]).toEqual([rule.limit - 1, rule.limit - 2])
  })
})

describe.each(modes.filter(([, rule]) => rule.codec === undefined))('the hot script of %s hands over', (_, rule) => {
  const spanMs = rule.parameters.windowMs ?? rule.parameters.leaseMs

  it.each([
    ['newest time that is not whole', [NOW_MS + 0.5, 2, NOW_MS, 1, NOW_MS + 0.5, 1]],
    ['total that is not whole', [NOW_MS + 1, 2.5, NOW_MS, 1, NOW_MS + 1, 1]],
    ['newest cost that is not whole', [NOW_MS + 1, 2, NOW_MS, 1, NOW_MS + 1, 1.5]],
  ])('a line with a %s, which nothing else tells', async (_, [atMs = 0, total = 0, ...pairs]) => {
    await redis.set('a', doubles(atMs, total, Number(spanMs), ...pairs))
    await expectHandedOver(rule, NOW_MS + 2)
  })
})

describe.each(modes)('the hot script of %s refuses to run', (_, rule) => {
  const { source, parameters } = getScript(rule.kind)
  const good = [...parametersOf(rule, parameters), `${NOW_MS}`, '0', '1']

  it.each(['', '-2', '1.5', 'nan', 'inf', '-inf', 'ten', '1 2', '1e300'])('with "%s" for a number', async (wrong) => {
    for (const index of good.keys()) {
      if (index === good.length - 1) continue
      const message = await errorOf(redis.eval(source, 1, 'a', ...good.with(index, wrong)))
      expect(message).toMatch(
        new RegExp(`^ERR sluice: ${rule.kind} takes ${parameters.join(' ')} nowMs blockMs cost\\.\\.\\.`),
      )
    }
    expect(await redis.dbsize()).toBe(0)
  })

  it('with less than its parameters', async () => {
    for (let size = 0; size < parameters.length; size++) {
      expect(await errorOf(redis.eval(source, 1, 'a', ...good.slice(0, size)))).toContain('as its first lines say')
    }
    expect(await redis.eval(source, 1, 'a', ...good.slice(0, parameters.length))).toHaveLength(3)
  })
})
