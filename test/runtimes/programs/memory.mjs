// The memory store: prints what the store contract says, which plays the worked examples of every rule, and what waiting does.
import { memoryStore } from 'sluice'
import { runContract } from './run-contract.mjs'
import { runWaiting } from './run-waiting.mjs'

const contract = await runContract(() => memoryStore())
console.log(JSON.stringify({ contract, waiting: await runWaiting(memoryStore()) }))
