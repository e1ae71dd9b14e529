export type { ExampleAction, ExampleTurn, WorkedExample } from '../core/worked-example.ts'
export { type ManualClock, manualClock } from './manual-clock.ts'
export { type ContractCheck, type StoreContractOptions, storeContract } from './store-contract.ts'
