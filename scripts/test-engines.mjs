// Runs the whole test suite once on every engine of test/servers/engines.json, and says which of them could not be had.
//
// Arguments go to Vitest: npm run test:engines -- test/redis-facts.redis.test.ts
// Ends with 1 when a suite fails, or when there was no engine at all to run it on.
import { readFileSync } from 'node:fs'
import { report, runVitest } from './run-vitest.mjs'

const engines = JSON.parse(readFileSync(new URL('../test/servers/engines.json', import.meta.url), 'utf8'))

const rows = []
for (const engine of Object.keys(engines)) rows.push(await testOn(engine))
report(['engine', 'version', 'result'], rows, 'no further engine could be had')

async function testOn(engine) {
  console.log(`\n${engine}`)
  const env = { ...process.env, SLUICE_ENGINE: engine }
  // It would choose the server of every run.
  delete env.SLUICE_REDIS_SERVER
  const { output, passed, result } = await runVitest(process.argv.slice(2), { env })
  // The line of the global setup.
  const [, version, why] = /^engine \S+: (?:version (.+)|(none, .+))$/m.exec(output) ?? []
  return version === undefined ? { engine, version: '', result: why ?? result } : { engine, version, passed, result }
}
