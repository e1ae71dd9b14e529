import { expect, it } from 'vitest'
import { KeyText } from './key-text.ts'

it('gives keys that are made to collide hashes that do not', () => {
  const text = new KeyText()
  // The same for every hash of the kind `hash * 31 + code`; and the same words in another order.
  for (const parts of [
    ['Aa', 'BB', 'C#'],
    ['aaaa', 'bbbb', 'aabb'],
    ['\u0041\u0061', '\u0141\u0061', '\u0041\u0161'],
  ]) {
    let keys = ['']
    for (let length = 0; length < 8; length++) keys = keys.flatMap((key) => parts.map((part) => key + part))
    const buckets = new Map<number, number>()
    const hashes = new Set<number>()
    for (const key of keys) {
      text.read(key)
      hashes.add(text.hash)
      buckets.set(text.hash & 0xfff, (buckets.get(text.hash & 0xfff) ?? 0) + 1)
    }
    // 6,561 keys in 4,096 buckets: by chance alone the fullest has about nine, and hashes of 32 bits hardly ever meet.
    expect(hashes.size).toBeGreaterThan(6_500)
    expect(Math.max(...buckets.values())).toBeLessThan(25)
  }
})
