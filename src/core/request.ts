/** What is asked of one key. Amounts and times are whole numbers that the limiter has checked. */
export type Request =
  /** Takes `amount` if it passes. A refusal changes nothing, but for `blockForMs`: it blocks the key for so long. */
  | { readonly action: 'consume'; readonly amount: number; readonly blockForMs?: number | undefined }
  /**
   * As `consume`, but what was taken comes back after `holdMs` unless the hold is settled before. Of a leased rule it comes back by
   * itself, and `holdMs` is its lease.
   */
  | {
      readonly action: 'hold'
      readonly amount: number
      readonly id: number
      readonly holdMs: number
      readonly blockForMs?: number | undefined
    }
  /** Ends a hold: of what it took, `amount` was used. Gives back the rest, or takes what was used beyond it. */
  | { readonly action: 'settle'; readonly id: number; readonly amount: number }
  /** Lets a hold last for `holdMs` from now. */
  | { readonly action: 'renew'; readonly id: number; readonly holdMs: number }
  /** What `consume` would answer. */
  | { readonly action: 'peek'; readonly amount: number }
  /** Takes `amount` whatever is left, down to the rule's debt. */
  | { readonly action: 'charge'; readonly amount: number }
  /** Returns `amount`: the newest that was taken, or what is still counted of what was taken at `takenMs`. */
  | { readonly action: 'giveBack'; readonly amount: number; readonly takenMs?: number | undefined }
  /**
   * Refuses the key for `amount` milliseconds from now, whatever the rule says. An earlier block that ends later stays, unless this
   * one is to replace it.
   */
  | { readonly action: 'block'; readonly amount: number; readonly replace?: boolean | undefined }
  /** Ends a block. What the rule has counted stays. */
  | { readonly action: 'unblock' }
  /** Forgets the key: counts, holds and block. */
  | { readonly action: 'reset' }

/** Whether a request takes only what passes: such requests of one decision are taken all or none. */
export function isTaking(request: Request): boolean {
  return request.action === 'consume' || request.action === 'hold'
}

/** The request of something that only watches: it blocks nobody. */
export function watching(request: Request): Request {
  if (request.action !== 'consume' && request.action !== 'hold') return request
  return { ...request, blockForMs: undefined }
}
