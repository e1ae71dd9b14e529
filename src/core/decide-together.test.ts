import { expect, it } from 'vitest'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { peek } from './decide.ts'
import { decideTogether, type Part } from './decide-together.ts'
import { type Ruling, UNTOUCHED } from './entry.ts'
import type { Request } from './request.ts'

const rule = fixedWindow({ limit: 10, windowMs: 1_000 })
const partOf = (request: Request): Part => ({ rule, entry: UNTOUCHED, request, shadow: false })

it('charges one key also when another key refuses, and takes nothing of what consumes or holds', () => {
  const requests: Request[] = [
    { action: 'consume', amount: 11 },
    { action: 'charge', amount: 3 },
    { action: 'consume', amount: 4 },
    { action: 'hold', amount: 5, id: 1, holdMs: 100 },
  ]
  const { allowed, rulings } = decideTogether(requests.map(partOf), 0)
  expect(allowed).toBe(false)
  expect(rulings.map((ruling) => ruling.allowed)).toEqual([false, true, true, true])
  expect(rulings.map((ruling: Ruling) => peek(rule, ruling, 1, 0).remaining)).toEqual([10, 7, 10, 10])
})
