import fc from 'fast-check'
import { expect, it } from 'vitest'
import { runs } from '../../../test/effort.ts'
import { KeyIndex } from './key-index.ts'
import { KeyText } from './key-text.ts'
import { PAGE } from './pages.ts'

/** An index beside a list of the keys that it should hold, each at its slot. */
function withModel(): { index: KeyIndex; keys: string[]; add(key: string): void; remove(key: string): void } {
  const index = new KeyIndex()
  const keys: string[] = []
  return {
    index,
    keys,
    add(key) {
      if (index.find(key) >= 0) return
      expect(index.add()).toBe(keys.length)
      keys.push(key)
    },
    remove(key) {
      const slot = keys.indexOf(key)
      if (slot < 0) return
      index.remove(slot)
      const last = keys.pop() as string
      if (slot < keys.length) keys[slot] = last
    },
  }
}

// Characters on both sides of every border: one byte, Latin-1, two bytes, half of a pair; and lengths around four and beyond the usual.
const character = fc.constantFrom('a', 'b', '\0', '\x7f', '\x80', '\xff', '\u0100', '\uffff', '\ud800')
const name = fc.oneof(
  { weight: 5, arbitrary: fc.array(character, { maxLength: 9 }).map((characters) => characters.join('')) },
  { weight: 1, arbitrary: fc.nat(1_500).map((length) => 'x'.repeat(length)) },
  { weight: 1, arbitrary: fc.nat(1_500).map((length) => '\u2603'.repeat(length)) },
)

it('finds every key that was added and not removed, and no other, whatever its characters', () => {
  fc.assert(
    fc.property(fc.array(fc.record({ key: name, isRemoved: fc.boolean() }), { maxLength: 120 }), (turns) => {
      const { index, keys, add, remove } = withModel()
      for (const { key, isRemoved } of turns) {
        if (isRemoved) remove(key)
        else add(key)
        expect(index.size).toBe(keys.length)
        for (const turn of turns) expect(index.find(turn.key)).toBe(keys.indexOf(turn.key))
      }
    }),
    { numRuns: runs('structure') },
  )
})

it.each([
  ['of equal bytes', '\u6161\u6262', 'aabb'],
  ['that end in the character zero', 'abc', 'abc\0'],
  ['that end in two of them', '\u2603', '\u2603\0'],
  ['that are empty', '', '\0'],
])('never takes one key for another: keys %s', (_, one, other) => {
  const { index, add } = withModel()
  add(one)
  expect(index.find(other)).toBe(-1)
  add(other)
  expect([index.find(one), index.find(other)]).toEqual([0, 1])
})

it('holds many pages of keys of any length, in any order of going', () => {
  const index = new KeyIndex()
  const count = 3 * PAGE + 100
  const keyOf = (number: number): string => `${number}`.padStart(number % 40, '*')
  let left = Array.from({ length: count }, (_, number) => keyOf(number))
  for (const key of left) {
    expect(index.find(key)).toBe(-1)
    index.add()
  }
  // Rounds of forgetting from the front, the back and the middle, and of coming again, so that pools fill and are made anew.
  for (let round = 0; round < 4; round++) {
    const gone = left.filter((_, place) => place % 4 !== round)
    for (const key of round % 2 === 0 ? gone : gone.reverse()) index.remove(index.find(key))
    const going = new Set(gone)
    left = left.filter((key) => !going.has(key))
    for (let extra = 0; extra < 5_000; extra++) {
      const key = `round ${round} key ${extra} ${'*'.repeat(extra % 60)}`
      expect(index.find(key)).toBe(-1)
      index.add()
      left.push(key)
    }
    expect(index.size).toBe(left.length)
    expect(new Set(left.map((key) => index.find(key))).size).toBe(left.length)
  }
  for (const key of left) index.remove(index.find(key))
  expect(index.size).toBe(0)
})

it('takes two keys of one hash for two keys', () => {
  const text = new KeyText()
  const seen = new Map<number, string>()
  let pair: [string, string] | undefined
  // Some of these keys have the same 32 bits. Which ones is unknown: the secret of the hash differs in every process.
  for (let number = 0; number < 1_000_000 && pair === undefined; number++) {
    const key = `key ${number}`
    text.read(key)
    const other = seen.get(text.hash)
    if (other !== undefined) pair = [other, key]
    seen.set(text.hash, key)
  }
  const { index, add } = withModel()
  const [one, other] = pair as [string, string]
  add(one)
  expect(index.find(other)).toBe(-1)
  add(other)
  expect([index.find(one), index.find(other)]).toEqual([0, 1])
})
