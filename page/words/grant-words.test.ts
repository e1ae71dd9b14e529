import { expect, it } from 'vitest'
import { describeGrants } from './grant-words.ts'

it.each([
  [{ count: 0, units: 0, endsAfterMs: 0 }, 'Nothing is out: no process has a grant of this key.'],
  [{ count: 1, units: 1_250, endsAfterMs: 87 }, '1,250 out in 1 grant. It ends in 87 ms.'],
  [{ count: 3, units: 90, endsAfterMs: 1_200 }, '90 out in 3 grants. The last one ends in 1.2 s.'],
])('tells what is out: %j', (grants, words) => {
  expect(describeGrants(grants)).toBe(words)
})
