// Changes the rules and the engine in one place after another, and counts the changes that no unit test notices.
//
// Arguments name the parts to change: npm run test:mutation -- token-bucket engine
// Prints the changes that survived, and a score for each part. Every run tries the same random schedules.
import { readdirSync } from 'node:fs'
import { relative } from 'node:path'
import { startVitest } from 'vitest/node'
import { instrument } from './mutation/instrument.mjs'

const rules = readdirSync('src/rules', { withFileTypes: true }).filter((entry) => entry.isDirectory())
const PARTS = {
  ...Object.fromEntries(
    rules.map(({ name }) => [name, [`src/rules/${name}/${name}.ts`, `src/rules/${name}/${name}.memory.ts`]]),
  ),
  shared: ['debt', 'level', 'outlive', 'run', 'share', 'timeline', 'timeline-view'].map(
    (name) => `src/rules/${name}.ts`,
  ),
  engine: ['decide', 'decide-all', 'consume', 'adjust', 'reserve', 'key-state', 'holds'].map(
    (name) => `src/engine/${name}.ts`,
  ),
}

const asked = process.argv.slice(2)
const unknown = asked.find((name) => !Object.hasOwn(PARTS, name))
if (unknown !== undefined) throw new Error(`no part "${unknown}": it is one of ${Object.keys(PARTS).join(', ')}`)
const parts = asked.length === 0 ? Object.keys(PARTS) : asked

process.env.SLUICE_SEED ??= '1'
const { changes, plugin } = await instrument(parts.flatMap((part) => PARTS[part]))
const startedMs = Date.now()
const found = { reached: new Set(), killed: new Set(), timedOut: new Set() }
const done = new Set()
// The tests that take the longest come last, and meet only the changes that no other test has noticed.
for (const mostMs of [20, 200, Number.MAX_VALUE]) await runTests(mostMs)

for (const { id, fileName, location, replacement } of changes) {
  if (found.killed.has(id) || found.timedOut.has(id)) continue
  const { line, column } = location.start
  const what = found.reached.has(id) ? 'survived' : 'not reached'
  console.log(`${what} ${relative('.', fileName)}:${line + 1}:${column + 1} ${replacement.replace(/\s+/g, ' ')}`)
}
console.table(Object.fromEntries([...parts.map((part) => [part, scoreOf(changesOf(part))]), ['all', scoreOf(changes)]]))
console.log(`${changes.length} changes in ${Math.round((Date.now() - startedMs) / 1_000)} seconds`)

async function runTests(mostMs) {
  const provide = { mostMs, noticed: [...found.killed, ...found.timedOut], done: [...done] }
  const config = { config: 'vitest.mutation.config.ts', watch: false, provide }
  const vitest = await startVitest('test', [], config, { plugins: [plugin] })
  const tests = vitest.state.getFiles().flatMap(testsOf)
  await vitest.close()
  // A test that fails before anything is changed says nothing about changes.
  if (tests.some(({ result }) => result?.state !== 'pass')) throw new Error('a test fails on the code as it is')
  for (const { id: testId, meta } of tests) {
    for (const [kind, ids] of Object.entries(meta.mutation.found)) for (const id of ids) found[kind].add(id)
    if (meta.mutation.isDone) done.add(testId)
  }
}

function testsOf(task) {
  return task.type === 'suite' ? task.tasks.flatMap(testsOf) : [task]
}

function changesOf(part) {
  return changes.filter(({ fileName }) => PARTS[part].includes(relative('.', fileName)))
}

function scoreOf(some) {
  const count = (set) => some.filter(({ id }) => set.has(id)).length
  const [killed, timedOut] = [count(found.killed), count(found.timedOut)]
  const noCoverage = some.length - count(found.reached)
  const survived = some.length - killed - timedOut - noCoverage
  const percent = ((100 * (killed + timedOut)) / some.length).toFixed(1)
  return { mutants: some.length, killed, survived, 'timed out': timedOut, 'no coverage': noCoverage, '%': percent }
}
