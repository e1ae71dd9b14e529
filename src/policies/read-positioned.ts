import { LineCounter } from 'yaml'
import { PoliciesError, type SourceProblem } from './policies-error.ts'
import { readSource } from './read-source.ts'
import type { ReportProblem, SourceNode } from './source-node.ts'

/** Makes something of the values of a file, and reports what is wrong with them. */
export type ReadRoot<Read> = (root: SourceNode | undefined, reportProblem: ReportProblem) => Read

/**
 * Reads a text of YAML or JSON with `readRoot`. Throws a `PoliciesError` with everything that is wrong in it, and nothing else.
 *
 * @param fileName only for messages.
 */
export function readPositioned<Read>(text: string, fileName: string, readRoot: ReadRoot<Read>): Read {
  const lines = new LineCounter()
  const problems = new Map<string, SourceProblem>()
  // What is said once and used by several aliases is wrong once.
  const reportProblem: ReportProblem = (at, reason) => {
    const { line, col } = lines.linePos(at)
    problems.set(`${at} ${reason}`, { line: Math.max(1, line), column: Math.max(1, col), reason })
  }
  const assertGood = (): void => {
    if (problems.size > 0) throw new PoliciesError(fileName, [...problems.values()])
  }
  const root = readSource(text, lines, reportProblem)
  assertGood()
  const read = readRoot(root, reportProblem)
  assertGood()
  return read
}
