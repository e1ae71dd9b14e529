import { storeContract } from 'sluice/testing'

/** Runs the store contract without a test runner: how many checks there are, and which of them a store fails. */
export async function runContract(createStore) {
  const checks = storeContract({ createStore })
  const failed = []
  for (const { title, run } of checks) await run().catch((error) => failed.push(`${title}: ${error.message}`))
  return { checks: checks.length, failed }
}
