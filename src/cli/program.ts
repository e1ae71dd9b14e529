import { Command, CommanderError } from 'commander'
import { LimiterError } from '../core/limiter-error.ts'
import { CommandFailure, EXIT } from './command-failure.ts'
import type { Terminal } from './terminal.ts'

/** Adds one command to the program. Its file is named after it. */
export type AddCommand = (program: Command, terminal: Terminal) => void

/** The commands, in the order of the help. */
const COMMANDS: readonly AddCommand[] = []

/** Runs the command line `args` names, and resolves with its exit code. Nothing is thrown: people get a sentence. */
export async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const program = new Command('sluice')
    .description('Rate limits: serve them, simulate them, look into them.')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text),
      writeErr: (text) => terminal.err(text),
      getOutHelpWidth: () => terminal.columns,
      getErrHelpWidth: () => terminal.columns,
      getOutHasColors: () => terminal.hasColour,
      getErrHasColors: () => terminal.hasColour,
    })
    .showHelpAfterError('(sluice --help tells more)')
  for (const add of COMMANDS) add(program, terminal)
  try {
    await program.parseAsync(args, { from: 'user' })
    return EXIT.done
  } catch (error) {
    // Commander has told people already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.wrong
    if (error instanceof CommandFailure) return told(terminal, error.message, error.exitCode)
    if (error instanceof LimiterError) {
      const isWrong = error.code.startsWith('INVALID_')
      return told(terminal, `${error.message} (${error.code})`, isWrong ? EXIT.wrong : EXIT.failed)
    }
    return told(terminal, (error as Error).stack ?? String(error), EXIT.failed)
  }
}

function told(terminal: Terminal, message: string, exitCode: number): number {
  terminal.err(`sluice: ${message}\n`)
  return exitCode
}
