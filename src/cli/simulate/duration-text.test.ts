import { expect, it } from 'vitest'
import { writeDuration, writeSpan } from './duration-text.ts'

it.each([
  [1, '1ms'],
  [2_400, '2s400ms'],
  [90_000, '1m30s'],
  [1_800_000, '30m'],
  [90_061_001, '1d1h'],
])('formats %i ms in few words', (ms, text) => {
  expect(writeDuration(ms)).toBe(text)
})

it.each([
  [20_012, 90, '30m'],
  [137, 88, '12s'],
  [1_000, 90, '1m30s'],
  [1, 7, '7ms'],
])('leaves out what is less than a slot: slots of %i ms', (widthMs, count, text) => {
  const slots = Array.from({ length: count }, (_, index) => ({
    fromMs: index * widthMs,
    admitted: 0,
    refused: 0,
    remaining: 0,
  }))
  expect(writeSpan(slots)).toBe(text)
  expect(writeSpan(slots.slice(0, 1))).toBe('')
})
