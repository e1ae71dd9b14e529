// The rules in memory: prints what the store contract says, which plays the worked examples of every rule.
import { memoryStore } from 'sluice'
import { runContract } from './run-contract.mjs'

console.log(JSON.stringify(await runContract(() => memoryStore())))
