import { milliseconds, oneOf, wholeNumber } from '../core/check.ts'
import { ON_STORE_FAILURE, type OnStoreFailure } from '../core/limit.ts'

/** What to do about a store that does not answer. */
export interface FailureOptions {
  /**
   * How long a decision waits for the store, 1 ms to 10 years: after that it is made without it, as `onStoreFailure` says.
   * @default 500
   */
  readonly deadlineMs?: number
  /**
   * What to do when the store gives no answer. `'fallback'`: decide here, by the same rule with this instance's share. `'allow'`: let
   * it pass, uncounted. `'refuse'`: refuse it with the reason `store-unavailable`. `'throw'`: reject with the error.
   * @default 'fallback'
   */
  readonly onStoreFailure?: OnStoreFailure
  /**
   * Among how many instances a limit is shared while each of them decides without the store, 1 to 1,000,000.
   * @default counted on the store: the most that asked it for a decision within 30 seconds of late; 1 where it was never there
   */
  readonly instances?: number
}

/** The same, checked and complete. */
export interface FailureSettings {
  readonly deadlineMs: number
  readonly onStoreFailure: OnStoreFailure
  readonly instances: number | undefined
}

/** What they are called. */
export const FAILURE_OPTIONS: readonly (keyof FailureOptions)[] = ['deadlineMs', 'onStoreFailure', 'instances']

/** Checks the options and fills in what is absent. */
export function failureSettings(options: FailureOptions): FailureSettings {
  const { deadlineMs = 500, onStoreFailure = 'fallback', instances } = options
  milliseconds('deadlineMs', deadlineMs)
  oneOf('onStoreFailure', onStoreFailure, ON_STORE_FAILURE)
  if (instances !== undefined) wholeNumber('instances', instances, 1, 1_000_000)
  return { deadlineMs, onStoreFailure, instances }
}
