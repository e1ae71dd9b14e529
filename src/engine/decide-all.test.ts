import { expect, it } from 'vitest'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { peek } from './decide.ts'
import { decideAll, type Part } from './decide-all.ts'
import { type Transition, UNTOUCHED } from './key-state.ts'
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
  const { allowed, transitions } = decideAll(requests.map(partOf), 0)
  expect(allowed).toBe(false)
  expect(transitions.map((transition) => transition.allowed)).toEqual([false, true, true, true])
  expect(transitions.map((transition: Transition) => peek(rule, transition, 1, 0).remaining)).toEqual([10, 7, 10, 10])
})
