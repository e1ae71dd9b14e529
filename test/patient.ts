/**
 * For tests of what a store decides: a busy machine is waited for, an error is an error, and nothing is sent that the test did not
 * ask for.
 */
export const patient = { onStoreFailure: 'throw', instances: 1, timeout: 20_000 } as const
