import type { Reporter, TestModule } from 'vitest/node'

/** Ends the output with one plain line that a program can read: `12 passed, 0 failed`. */
export class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const count = { passed: 0, failed: 0, skipped: 0, pending: 0 }
    for (const module of modules) for (const test of module.children.allTests()) count[test.result().state]++
    const broken = modules.filter((module) => module.state() === 'failed' && module.errors().length > 0).length
    const skipped = count.skipped + count.pending
    console.log(`${count.passed} passed, ${count.failed + broken} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
  }
}
