import type { Operation } from '../core/operation.ts'
import { adjust, block, reset, unblock } from './adjust.ts'
import { consume, peek } from './consume.ts'
import { grant } from './grant.ts'
import type { KeyState, Transition } from './key-state.ts'
import { extend, reserve, settle } from './reserve.ts'

/** Decides one operation on the stored state of its key. */
export function decide(operation: Operation, stored: KeyState, nowMs: number): Transition {
  const { rule, amount } = operation
  switch (operation.type) {
    case 'consume':
      return consume(rule, stored, amount, nowMs, operation.blockMs)
    case 'peek':
      return peek(rule, stored, amount, nowMs)
    case 'charge':
      return adjust(rule, stored, amount, nowMs)
    case 'refund':
      return adjust(rule, stored, -amount, nowMs, operation.takenMs)
    case 'block':
      return block(rule, stored, amount, nowMs, operation.replaces)
    case 'unblock':
      return unblock(rule, stored, nowMs)
    case 'reset':
      return reset(rule, stored, nowMs)
    case 'reserve':
      return reserve(operation, stored, nowMs)
    case 'grant':
      return grant(operation, stored, nowMs)
    case 'settle':
      return settle(rule, stored, operation.holdId, amount, nowMs)
    case 'extend':
      return extend(rule, stored, operation.holdId, operation.holdMs, nowMs)
  }
}
