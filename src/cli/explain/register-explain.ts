import { show } from '../../core/check.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import type { RegisterCommand } from '../command/command.ts'
import { chooseColors } from '../terminal/colors.ts'
import { UsageError } from '../terminal/command-failure.ts'
import { formatTable, truncate } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { EXPLANATIONS, type Explanation, summarize } from './explanations.ts'
import { formatSection } from './format-section.ts'

/** `sluice explain`: what an error or a warning means, and what to do. */
export const registerExplain: RegisterCommand = (program, terminal) => {
  program
    .command('explain')
    .description('explain the code of an error or a warning; works offline')
    .argument('[code]', 'a code such as STORE_DENIED (default: list all codes)')
    .addHelpText('after', EXAMPLES)
    .action((code?: string) => terminal.out(code === undefined ? formatList(terminal) : formatCode(code, terminal)))
}

function formatList({ columns }: Terminal): string {
  const rows = EXPLANATIONS.map((one) => [one.code, one.kind, summarize(one)])
  return formatTable(rows)
    .split('\n')
    .map((line) => truncate(line, columns))
    .join('\n')
}

function formatCode(given: string, terminal: Terminal): string {
  const code = given.toUpperCase()
  const found = EXPLANATIONS.filter((one) => one.code === code)
  if (found.length === 0) throw createUnknownCode(given)
  return found.map((one) => formatExplanation(one, terminal)).join('\n')
}

function formatExplanation({ code, kind, section }: Explanation, terminal: Terminal): string {
  const { bold } = chooseColors(terminal)
  return `${bold(code)}, ${kind === 'error' ? 'an error' : 'a warning'}\n\n${formatSection(section, terminal.columns)}\n`
}

function createUnknownCode(given: string): UsageError {
  const codes = [...new Set(EXPLANATIONS.map(({ code }) => code))]
  return new UsageError(
    `unknown code ${show(given)}${didYouMean(given.toUpperCase(), codes)}\nthe codes are ${codes.join(', ')}`,
  )
}

const EXAMPLES = `
Examples:
  sluice explain STORE_DENIED
  sluice explain
`
