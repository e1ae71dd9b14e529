import { expect, it } from 'vitest'
import { operationBy } from '../../test/open-limit.ts'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { peek } from './consume.ts'
import { decideAll } from './decide-all.ts'
import { type Transition, UNTOUCHED } from './key-state.ts'

const rule = fixedWindow({ limit: 10, window: 1_000 })

it('charges one key also when another key refuses, and takes nothing of what consumes or reserves', () => {
  const operations = [
    operationBy(rule, { type: 'consume', amount: 11 }),
    operationBy(rule, { type: 'charge', amount: 3 }),
    operationBy(rule, { type: 'consume', amount: 4 }),
    operationBy(rule, { type: 'reserve', amount: 5, holdId: 1, holdMs: 100 }),
  ]
  const stored = operations.map(() => UNTOUCHED)
  const { allowed, transitions } = decideAll(operations, stored, 0)
  expect(allowed).toBe(false)
  expect(transitions.map((transition) => transition.allowed)).toEqual([false, true, true, true])
  expect(transitions.map((transition: Transition) => peek(rule, transition, 1, 0).remaining)).toEqual([10, 7, 10, 10])
})
