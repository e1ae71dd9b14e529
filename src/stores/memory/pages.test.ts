import { expect, it } from 'vitest'
import { PAGE, PAGE_BITS, PAGE_MASK, wholeNumbers } from './pages.ts'

it('keeps what slots hold while others come and go, and frees all pages but one that are not needed', () => {
  const pages = wholeNumbers(2)
  const numbersOf = (slot: number): Int32Array =>
    (pages.list[slot >>> PAGE_BITS] as Int32Array).subarray((slot & PAGE_MASK) * 2, (slot & PAGE_MASK) * 2 + 2)
  const most = 4 * PAGE + 1
  for (let slot = 0; slot < most; slot++) {
    pages.grow(slot + 1)
    numbersOf(slot).set([slot, -slot])
  }
  expect(pages.list.length).toBe(5)
  for (let slot = 0; slot < most; slot++) expect([...numbersOf(slot)]).toEqual([slot, 0 - slot])
  pages.shrink(PAGE + 1)
  expect(pages.list.length).toBe(3)
  pages.shrink(PAGE)
  expect(pages.list.length).toBe(2)
  expect([...numbersOf(PAGE - 1)]).toEqual([PAGE - 1, 1 - PAGE])
  pages.grow(2 * PAGE)
  expect(pages.list.length).toBe(2)
  pages.shrink(0)
  expect(pages.list.length).toBe(1)
})

it('takes little room for few slots, and room at once for many', () => {
  const pages = wholeNumbers(1)
  pages.grow(1)
  expect(pages.list.map(({ length }) => length)).toEqual([64])
  pages.grow(65)
  expect(pages.list.map(({ length }) => length)).toEqual([128])
  pages.grow(2 * PAGE + 1)
  expect(pages.list.map(({ length }) => length)).toEqual([PAGE, PAGE, PAGE])
})
