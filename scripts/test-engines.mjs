// Runs the whole test suite once on every engine of test/servers/engines.json, and says which of them could not be had.
//
// Arguments go to Vitest: npm run test:engines -- test/redis-facts.test.ts
// Ends with 1 when a suite fails, or when there was no engine at all to run it on.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const engines = JSON.parse(readFileSync(new URL('../test/servers/engines.json', import.meta.url), 'utf8'))

const rows = []
for (const engine of Object.keys(engines)) rows.push(await testOn(engine))
const tested = rows.filter(({ version }) => version !== '')
console.log(`\n${table(rows)}`)
if (tested.length === 0) console.log('\nno further engine could be had')
process.exitCode = tested.length === 0 || tested.some(({ passed }) => !passed) ? 1 : 0

async function testOn(engine) {
  console.log(`\n${engine}`)
  const env = { ...process.env, SLUICE_ENGINE: engine }
  // It would choose the server of every run.
  delete env.SLUICE_REDIS_SERVER
  const args = ['node_modules/vitest/vitest.mjs', 'run', ...process.argv.slice(2)]
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text
    process.stdout.write(text)
  })
  const [code] = await once(child, 'close')
  // The one line is the global setup's, the other test/closing-line.ts's.
  const version = /^engine \S+: version (.+)$/m.exec(output)?.[1] ?? ''
  if (version === '') return { engine, version, result: /^engine \S+: (none, .+)$/m.exec(output)?.[1] ?? ended(code) }
  const counts = output.match(/^\d+ passed, \d+ failed.*$/gm)?.at(-1)
  const passed = code === 0 && counts !== undefined
  return { engine, version, passed, result: [counts, passed ? undefined : ended(code)].filter(Boolean).join('; ') }
}

function ended(code) {
  return `Vitest ended with ${code}`
}

function table(rows) {
  const width = (column) => Math.max(...rows.map((row) => row[column].length), column.length)
  const line = (row) => `${row.engine.padEnd(width('engine'))}  ${row.version.padEnd(width('version'))}  ${row.result}`
  return [{ engine: 'engine', version: 'version', result: 'result' }, ...rows].map(line).join('\n')
}
