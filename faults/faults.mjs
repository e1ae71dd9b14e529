// Every way for Redis to fail that we know, with real servers and real clients under load, and what callers notice of it.
//
// npm run faults                      all of them, about ten minutes, into docs/faults-played.md
// npm run faults -- killed cluster    these only: printed, not written
// npm run faults -- --quick           the short versions, as the tests run them: printed, not written
import { startVitest } from 'vitest/node'
import { load } from '../bench/report.mjs'
import { lineOf, reportOf, writePage } from './faults-page.mjs'

// In the order of the table; Vitest has its own.
const FILES = ['restarts', 'silence', 'failovers', 'failing', 'prefetch'].map(
  (name) => `test/faults/${name}.system.test.ts`,
)

const words = process.argv.slice(2)
const isQuick = words.includes('--quick')
const names = words.filter((word) => word !== '--quick')
const loadBefore = load()
const byFile = FILES.map(() => [])
const played = new Set()
let broken = 0

const reporter = {
  onTestCaseResult(test) {
    if (test.result().state === 'skipped') return
    played.add(test.parent.name)
    const row = test.meta().fault
    process.stdout.write(`${row === undefined ? whyBroken(test) : lineOf(row)}\n`)
    if (row === undefined) broken++
    else byFile[FILES.findIndex((file) => test.module.moduleId.includes(file))].push(row)
  },
}

const vitest = await startVitest('test', FILES, {
  watch: false,
  reporters: [reporter],
  provide: { longFaults: !isQuick },
  // One after the other: what is measured is Redis, and not the other scenario.
  fileParallelism: false,
  ...(names.length > 0 && { testNamePattern: `^(${names.join('|')}) ` }),
})
await vitest.close()
const rows = byFile.flat()
const strangers = names.filter((name) => !played.has(name))
if (strangers.length > 0)
  throw new Error(`no scenario is called ${strangers.join(', ')}: docs/faults-played.md has all names`)
if (broken > 0 || rows.some(({ problems }) => problems.length > 0)) process.exitCode = 1
const report = reportOf(rows, ['npm run faults', ...(words.length > 0 ? ['--', ...words] : [])].join(' '), loadBefore)
process.stdout.write(`\n${report}\n`)
if (!isQuick && names.length === 0 && broken === 0) writePage(report)

function whyBroken(test) {
  const errors = test.result().errors ?? []
  return `${test.fullName} broke: ${errors.map(({ stack, message }) => stack ?? message).join('\n')}`
}
