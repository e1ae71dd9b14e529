import type { Operation } from '../../core/operation.ts'

/** An operation as the scripts read it. */
export function operationText({ type, amount, blockMs, holdId, holdMs, takenMs, replaces }: Operation): string {
  switch (type) {
    case 'consume':
      return `ahead:${amount}${blockText(blockMs)}`
    case 'reserve':
      return `ahead:hold:${amount}:${holdId}:${holdMs}${blockText(blockMs)}`
    case 'settle':
      return `ahead:settle:${holdId}:${amount}`
    case 'extend':
      return `ahead:renew:${holdId}:${holdMs}`
    case 'refund':
      return `ahead:giveBack:${amount}${takenMs === undefined ? '' : `:${takenMs}`}`
    case 'block':
      return `ahead:${replaces ? 'reblock' : 'block'}:${amount}`
    case 'unblock':
    case 'reset':
      return `ahead:${type}`
    default:
      return `ahead:${type}:${amount}`
  }
}

function blockText(blockMs: number): string {
  return blockMs === 0 ? '' : `:blockFor:${blockMs}`
}
