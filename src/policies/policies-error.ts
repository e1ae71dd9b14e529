/** One thing that is wrong in a file, and where: lines and columns count from 1. */
export interface SourceProblem {
  readonly line: number
  readonly column: number
  readonly reason: string
}

/** A file of policies that cannot be used. Its message has a line for every problem, `limits.yaml:7:12: …`, in the order of the file. */
export class PoliciesError extends Error {
  override readonly name = 'PoliciesError'
  readonly fileName: string
  /** All of them, also those beyond the first fifty, which the message only counts. */
  readonly problems: readonly SourceProblem[]

  constructor(fileName: string, problems: readonly SourceProblem[]) {
    const sorted = [...problems].sort((one, other) => one.line - other.line || one.column - other.column)
    const lines = sorted
      .slice(0, MOST_LINES)
      .map(({ line, column, reason }) => `${fileName}:${line}:${column}: ${reason}`)
    if (sorted.length > MOST_LINES) lines.push(`${fileName}: and ${sorted.length - MOST_LINES} more`)
    super(lines.join('\n'))
    this.fileName = fileName
    this.problems = sorted
  }
}

const MOST_LINES = 50
