import type { Request } from '../../core/request.ts'

/** A request as the scripts read it. */
export function requestText(request: Request): string {
  switch (request.action) {
    case 'consume':
      return `${request.amount}${blockFor(request.blockForMs)}`
    case 'hold':
      return `hold:${request.amount}:${request.id}:${request.holdMs}${blockFor(request.blockForMs)}`
    case 'settle':
      return `settle:${request.id}:${request.amount}`
    case 'renew':
      return `renew:${request.id}:${request.holdMs}`
    case 'giveBack':
      return `giveBack:${request.amount}${request.takenMs === undefined ? '' : `:${request.takenMs}`}`
    case 'block':
      return `${request.replace === true ? 'reblock' : 'block'}:${request.amount}`
    case 'unblock':
    case 'reset':
      return request.action
    default:
      return `${request.action}:${request.amount}`
  }
}

function blockFor(blockForMs: number | undefined): string {
  return blockForMs === undefined ? '' : `:blockFor:${blockForMs}`
}
