import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LimitResult } from '../../src/core/decision.ts'
import type { Rule } from '../../src/core/rule.ts'
import { strictWindow } from '../../src/rules/strict-window/strict-window.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { runs } from '../effort.ts'
import { type Action, type OpenLimit, openLimit } from '../open-limit.ts'
import type { Address } from '../servers/ask.ts'
import { useServer } from '../servers/shared-servers.ts'
import { everyRule, NOON_MS, ruleOf } from './every-rule.ts'

let server: Address
let redis: Redis
beforeAll(async () => {
  server = await useServer()
  redis = new Redis(server.port)
})
afterAll(async () => {
  redis?.disconnect()
})

const LIMIT = 10
const LATER_MS = NOON_MS + 5_000
const HOLD_MS = 60_000

const take = (amount: number): Action => ({ type: 'consume', amount })
const hold: Action = { type: 'reserve', amount: 2, holdId: 7, holdMs: HOLD_MS }
const block: Action = { type: 'block', amount: 30_000 }

/** What a key may hold, and how many numbers come before the state. */
const kinds: readonly (readonly [title: string, requests: readonly Action[], front: number])[] = [
  ['a state', [take(2), take(3)], 0],
  ['a block and a state', [take(2), take(3), block], 3],
  ['a hold and a state', [take(2), hold], 8],
  ['a block, a hold and a state', [take(2), hold, block], 11],
]

/** What may be asked about it: by the short way, by the long one, and about what comes before the state. */
const everyQuestion: readonly Action[] = [
  take(1),
  take(LIMIT),
  { type: 'consume', amount: 1, blockMs: 30_000 },
  { type: 'peek', amount: 1 },
  { type: 'charge', amount: 3 },
  { type: 'refund', amount: 2 },
  { type: 'refund', amount: 2, takenMs: NOON_MS },
  hold,
  { type: 'settle', holdId: 7, amount: 1 },
  { type: 'extend', holdId: 7, holdMs: HOLD_MS },
  block,
  { type: 'unblock' },
]

let names = 0

/** A fresh place for a rule, and how to write a spoilt state there. */
function placeOf(rule: Rule): { oneLimit: OpenLimit; nameOf: (key: string) => string } {
  const limiterName = `c${names++}`
  const oneLimit = openLimit(redisStore(redis), { limiter: limiterName, rule })
  return { oneLimit, nameOf: (key) => `sluice:${limiterName}:${rule.stateName}:${key}` }
}

/** The bytes of a key after the requests, a second apart. */
async function bytesAfter(rule: Rule, requests: readonly Action[]): Promise<Buffer> {
  const { oneLimit, nameOf } = placeOf(rule)
  for (const [index, request] of requests.entries()) await oneLimit.decide('whole', request, NOON_MS + 1_000 * index)
  return (await redis.getBuffer(nameOf('whole'))) as Buffer
}

let values = 0

/**
 * Asks about these bytes, each question about a key of its own that holds them. Answers `FOREIGN_KEY` or the verdict, if that left them.
 * The next value is asked the next questions.
 */
async function answers(rule: Rule, bytes: Buffer): Promise<readonly ('FOREIGN_KEY' | LimitResult)[]> {
  const { oneLimit, nameOf } = placeOf(rule)
  const every = everyQuestion.length / runs('questions')
  const turn = values++
  const asked = everyQuestion.filter((_, index) => (index + turn) % every === 0)
  await Promise.all(asked.map((_, index) => redis.set(nameOf(`${index}`), bytes, 'PX', 600_000)))
  return Promise.all(
    asked.map(async (request, index) => {
      try {
        return await oneLimit.decide(`${index}`, request, LATER_MS)
      } catch (error) {
        if ((error as { code?: string }).code !== 'FOREIGN_KEY') throw error
        expect(await redis.getBuffer(nameOf(`${index}`))).toEqual(bytes)
        return 'FOREIGN_KEY'
      }
    }),
  )
}

/** The bytes with another number in one place. */
function withNumber(bytes: Buffer, place: number, number: number): Buffer {
  const spoilt = Buffer.from(bytes)
  spoilt.writeDoubleLE(number, 8 * place)
  return spoilt
}

/** Whether a number is possible where it is put: a part of what a hold of a bucket took, a time before 1970, a slice of 1 ms. */
function canBe({ kind }: Rule, number: number, place: number, front: number, last: number): boolean {
  const isHeld = front >= 8
  if (number === 0.25) return isHeld && (place === front - 3 || place === front - 6)
  const isTaken = (isHeld && place === front - 2) || (/log|concurrency/.test(kind) && place === front + 3)
  return number === -1 && (isTaken || (kind === 'strict-window' && place === last))
}

/** A verdict in whole numbers that a rule of this limit can give. */
function expectPossible({ allowed, remaining, retryAfterMs, resetAfterMs, delayMs, nextAfterMs }: LimitResult): void {
  expect(typeof allowed).toBe('boolean')
  expect(remaining).toBeGreaterThanOrEqual(0)
  expect(remaining).toBeLessThanOrEqual(LIMIT)
  if (retryAfterMs === Number.POSITIVE_INFINITY) expect(allowed).toBe(false)
  for (const timeMs of [retryAfterMs, resetAfterMs, delayMs, nextAfterMs ?? 0]) {
    if (timeMs === Number.POSITIVE_INFINITY) continue
    expect(timeMs % 1).toBe(0)
    expect(timeMs).toBeGreaterThanOrEqual(0)
    expect(timeMs).toBeLessThanOrEqual(2 ** 55)
  }
}

describe.each(everyRule)('of $title', (named) => {
  const rule = ruleOf(named, named.options(LIMIT))

  it.each(kinds)('%s with a number that cannot be is no decision, and stays as it is', async (_, requests, front) => {
    const bytes = await bytesAfter(rule, requests)
    const places = Array.from({ length: bytes.length / 8 }, (_, place) => place)
    await Promise.all(
      places.flatMap((place) =>
        [Number.NaN, Number.POSITIVE_INFINITY, 0.25, -1, 1e300, -1e300].map(async (number) => {
          if (canBe(rule, number, place, front, places.length - 1)) return
          const told = await answers(rule, withNumber(bytes, place, number))
          expect(told, `${number} in place ${place}`).toEqual(Array(runs('questions')).fill('FOREIGN_KEY'))
        }),
      ),
    )
  })

  it.each(kinds)('%s that was cut off is no decision, and stays as it is', async (_, requests, front) => {
    const bytes = await bytesAfter(rule, requests)
    // A block and holds may stand alone.
    const whole = [8 * 3, 8 * front].filter((length) => length <= 8 * front)
    const lengths = Array.from({ length: bytes.length }, (_, length) => length)
    await Promise.all(
      lengths.map(async (length) => {
        if (whole.includes(length)) return
        const told = await answers(rule, bytes.subarray(0, length))
        expect(told, `${length} of ${bytes.length} bytes`).toEqual(Array(runs('questions')).fill('FOREIGN_KEY'))
      }),
    )
  })

  it('whatever was changed in a value, it is no decision or one in possible numbers', async () => {
    const values = await Promise.all(kinds.map(([, requests]) => bytesAfter(rule, requests)))
    const changes = fc.array(
      fc.record({
        at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
        change: fc.oneof(
          fc.nat(7).map((bit) => ({ bit })),
          fc.nat(255).map((byte) => ({ byte })),
          fc
            .oneof(
              fc.constantFrom(-1, -0, 0, 1, 0.5, -0.5, -1.5, -2.5, 2 ** 53, -(2 ** 53), Number.NEGATIVE_INFINITY),
              fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, 1e300, 5e-324, NOON_MS, LATER_MS + 90_000),
              fc.double(),
              fc.maxSafeInteger(),
            )
            .map((number) => ({ number })),
        ),
      }),
      { minLength: 1, maxLength: 3 },
    )
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...values), changes, async (value, changeList) => {
        const spoilt = Buffer.from(value)
        for (const { at, change } of changeList) {
          const place = Math.floor((at * spoilt.length) / 8)
          const index = Math.floor(at * spoilt.length)
          if ('number' in change) spoilt.writeDoubleLE(change.number, 8 * place)
          else if ('byte' in change) spoilt[index] = change.byte
          else spoilt[index] = (spoilt[index] as number) ^ (1 << change.bit)
        }
        for (const told of await answers(rule, spoilt)) if (told !== 'FOREIGN_KEY') expectPossible(told)
      }),
      { numRuns: runs('twin') },
    )
  })
})

// Pairs of time and cost are judged when they are read, so each example reads the one that is wrong, or misses one.
describe.each(everyRule.filter(({ factory }) => /slidingLog|concurrency/.test(factory)))(
  'the pairs of $title',
  (named) => {
    const rule = ruleOf(named, named.options(LIMIT))
    const firstGoneMs = NOON_MS + 86_400_000
    const refund = (amount: number, takenMs: number): Action => ({ type: 'refund', amount, takenMs })

    it.each<readonly [string, pairs: readonly number[], total: number, request: Action, nowMs: number]>([
      ['have all left, and not all of the total', [0, 2, 1_000, 3], 9, take(1), firstGoneMs + 1_000],
      ['were more than the total', [0, 2, 1_000, 3], 4, take(1), firstGoneMs + 1_000],
      ['are more than the total', [0, 2, 1_000, 3, 2_000, 1], 2, take(1), LATER_MS],
      ['are fewer than what has to leave', [0, 2, 1_000, 3], 10, take(9), LATER_MS],
      ['are not in the order of time', [0, 2, 4_000, 3, 2_000, 3, 5_000, 2], 10, take(9), LATER_MS],
      ['are later than the newest', [9_000, 2, 5_000, 3], 5, take(1), LATER_MS],
      ['give back more than the total', [0, 9, 1_000, 3], 5, refund(9, NOON_MS), LATER_MS],
      ['are all given back, and not all of the total', [0, 2, 1_000, 3], 9, refund(3, NOON_MS + 1_000), firstGoneMs],
      ['move back with the clock, out of order', [5_000, 2, 4_000, 3, 6_000, 1], 6, take(1), NOON_MS - 3_600_000],
      ['have less than is given back', [0, 2, 1_000, 3], 10, { type: 'refund', amount: 8 }, LATER_MS],
    ])('that %s are no decision', async (_, pairs, total, request, nowMs) => {
      const numbers = pairs.map((number, index) => (index % 2 === 0 ? NOON_MS + number : number))
      const bytes = Buffer.from(Float64Array.of(numbers.at(-2) as number, total, 86_400_000, ...numbers).buffer)
      const { oneLimit, nameOf } = placeOf(rule)
      await redis.set(nameOf('pairs'), bytes, 'PX', 600_000)
      await expect(oneLimit.decide('pairs', request, nowMs)).rejects.toMatchObject({ code: 'FOREIGN_KEY' })
      expect(await redis.getBuffer(nameOf('pairs'))).toEqual(bytes)
    })
  },
)

it('a strict window whose slices make no exact window is no decision, and no endless one', async () => {
  const rule = strictWindow({ limit: LIMIT, window: 60_000 })
  const bytes = await bytesAfter(rule, [take(2)])
  const last = bytes.length / 8 - 1
  expect(await answers(rule, withNumber(bytes, last, -60_000 / 10))).not.toContain('FOREIGN_KEY')
  const told = await answers(rule, withNumber(bytes, last, -Number.MAX_SAFE_INTEGER))
  expect(told).toEqual(Array(runs('questions')).fill('FOREIGN_KEY'))
})
