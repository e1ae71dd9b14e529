import type { Operation } from '../../core/operation.ts'

/** An operation as the scripts read it. */
export function operationText({ type, amount, blockMs, holdId, holdMs, takenMs, replaces }: Operation): string {
  switch (type) {
    case 'consume':
      return `${amount}${blockText(blockMs)}`
    case 'reserve':
      return `reserve:${amount}:${holdId}:${holdMs}${blockText(blockMs)}`
    case 'settle':
      return `settle:${holdId}:${amount}`
    case 'extend':
      return `extend:${holdId}:${holdMs}`
    case 'refund':
      return `refund:${amount}${takenMs === undefined ? '' : `:${takenMs}`}`
    case 'block':
      return `${replaces ? 'reblock' : 'block'}:${amount}`
    case 'unblock':
    case 'reset':
      return `${type}`
    default:
      return `${type}:${amount}`
  }
}

function blockText(blockMs: number): string {
  return blockMs === 0 ? '' : `:blockFor:${blockMs}`
}
