import { randomUUID } from 'node:crypto'
import { knownOptions, show } from '../core/check.ts'
import { LimiterError } from '../core/limiter-error.ts'
import type { Store } from '../core/store.ts'
import type { WorkedExample } from '../core/worked-example.ts'
import * as ruleExamples from '../rules/worked-examples.ts'
import { changeChecks } from './change-checks.ts'
import { grantChecks } from './grant-checks.ts'
import { jointChecks } from './joint-checks.ts'
import { nextChecks } from './next-checks.ts'
import { nextExamples } from './next-examples.ts'
import { operationExamples } from './operation-examples.ts'
import { playExample } from './play-example.ts'
import { storeChecks } from './store-checks.ts'

/** One thing that every store has to do. `run` rejects with an `AssertionError` when the store does not. */
export interface ContractCheck {
  readonly title: string
  run(): Promise<void>
}

/** Options of `storeContract`. */
export interface StoreContractOptions {
  /** Makes the store under test. Called once per check; a check closes its store afterwards. */
  createStore(): Store | Promise<Store>
  /** Worked examples of rules of your own, in addition to those of every built-in rule. */
  readonly examples?: readonly WorkedExample[]
}

/**
 * The definition of a store: hand every check to a test runner.
 *
 * ```ts
 * for (const { title, run } of storeContract({ createStore: () => myStore() })) it(title, run)
 * ```
 *
 * Names are unique in each run, so a shared server need not be flushed.
 */
export function storeContract(options: StoreContractOptions): readonly ContractCheck[] {
  knownOptions('storeContract()', options, ['createStore', 'examples'])
  const { createStore, examples = [] } = options
  if (typeof createStore !== 'function') {
    throw new LimiterError(
      'INVALID_OPTION',
      `createStore must be a function that makes a store, got ${show(createStore)}`,
    )
  }
  const run = randomUUID()
  const played = [...Object.values(ruleExamples).flat(), ...operationExamples, ...nextExamples, ...examples]
  const checks = [
    ...played.map((example) => ({
      title: example.title,
      check: (store: Store, name: string) => playExample(store, name, example),
    })),
    ...storeChecks,
    ...jointChecks,
    ...nextChecks,
    ...changeChecks,
    ...grantChecks,
  ]
  return checks.map(({ title, check }, index) => ({
    title,
    async run() {
      const store = await createStore()
      try {
        await check(store, `contract ${index} ${run}`)
      } finally {
        await store.close?.()
      }
    },
  }))
}
