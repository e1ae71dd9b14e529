import { PoliciesError } from '../../policies/policies-error.ts'
import type { Policies } from '../../policies/read-policies.ts'
import type { RegisterCommand } from '../command/command.ts'
import { readPoliciesFile } from '../command/policies-file.ts'
import { listTierNames } from '../command/strict-limiter.ts'
import { UsageError } from '../terminal/command-failure.ts'
import { printable, printableJson, printableLines } from '../terminal/printable.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** `sluice check`: whether a file of policies is right, for CI. */
export const registerCheck: RegisterCommand = (program, terminal) => {
  program
    .command('check')
    .description('find every mistake in a policies file, for CI; the exit code is 0 without a mistake and 2 with one')
    .argument('<file>', 'the policies file, YAML or JSON')
    .option('--json', 'print JSON')
    .addHelpText('after', EXAMPLES)
    .action(async (file: string, { json }: { json?: true }) => {
      const report = json ? reportJson : reportText
      try {
        report(file, await readPoliciesFile(file), [], terminal)
      } catch (error) {
        if (!(error instanceof PoliciesError)) throw error
        report(file, [], error.problems, terminal)
        throw new UsageError(`${file} has ${count(error.problems.length, 'mistake')}`)
      }
    })
}

type Report = (file: string, policies: Policies, problems: PoliciesError['problems'], terminal: Terminal) => void

const reportJson: Report = (file, policies, problems, terminal) => {
  const names = policies.map(({ name }) => name)
  terminal.out(printableJson({ file, valid: problems.length === 0, policies: names, problems }, 2))
}

const reportText: Report = (file, policies, problems, terminal) => {
  const limits = policies.reduce((sum, policy) => sum + Math.max(1, listTierNames(policy).length), 0)
  const lines = problems.map(({ line, column, reason }) => `${file}:${line}:${column}: ${reason}`)
  const text =
    lines.length === 0
      ? printable(`${file} is right: ${count(policies.length, 'policy', 'policies')}, ${count(limits, 'limit')}`)
      : printableLines(lines.join('\n'))
  terminal.out(`${text}\n`)
}

function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`
}

const EXAMPLES = `
Examples:
  sluice check limits.yaml
  sluice check limits.yaml --json | jq '.problems[]'
`
