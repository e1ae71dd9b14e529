import { Command, CommanderError } from 'commander'
import { addExplainHint } from '../core/explain-hint.ts'
import { LimiterError } from '../core/limiter-error.ts'
import { PoliciesError } from '../policies/policies-error.ts'
import { registerCheck } from './check/register-check.ts'
import type { RegisterCommand } from './command/command.ts'
import { VERSION } from './command/version.ts'
import { registerExplain } from './explain/register-explain.ts'
import { registerInit } from './init/register-init.ts'
import { registerInspect } from './inspect/register-inspect.ts'
import { registerReset } from './reset/register-reset.ts'
import { registerScripts } from './scripts/register-scripts.ts'
import { registerServe } from './serve/register-serve.ts'
import { registerSimulate } from './simulate/register-simulate.ts'
import { CommandFailure, EXIT } from './terminal/command-failure.ts'
import { printableLines } from './terminal/printable.ts'
import type { Terminal } from './terminal/terminal.ts'
import { registerTop } from './top/register-top.ts'

/** The commands, in the order of the help. */
const COMMANDS: readonly RegisterCommand[] = [
  registerInit,
  registerCheck,
  registerServe,
  registerSimulate,
  registerTop,
  registerInspect,
  registerReset,
  registerScripts,
  registerExplain,
]

/** Runs the command line `args` names, and resolves with its exit code. Nothing is thrown: people get a sentence. */
export async function run(args: readonly string[], given: Terminal): Promise<number> {
  const terminal = isPlain(args) ? Object.create(given, { hasColour: { value: false } }) : given
  const program = createProgram(terminal)
  for (const register of COMMANDS) register(program, terminal)
  try {
    await program.parseAsync(args.length === 0 ? ['--help'] : args, { from: 'user' })
    return EXIT.done
  } catch (error) {
    // Commander has printed it already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.wrong
    if (error instanceof CommandFailure) return reportError(terminal, error.message, error.exitCode)
    if (error instanceof PoliciesError) return reportError(terminal, error.message, EXIT.wrong)
    if (error instanceof LimiterError) {
      const isWrong = error.code.startsWith('INVALID_')
      return reportError(terminal, addExplainHint(error.message, error.code), isWrong ? EXIT.wrong : EXIT.failed)
    }
    return reportError(terminal, `${(error as Error).stack}`, EXIT.failed)
  }
}

function createProgram(terminal: Terminal): Command {
  return new Command('sluice')
    .description('Rate limits: check, serve, simulate and inspect them.')
    .version(VERSION, '-V, --version', 'print the version')
    .option('--no-color', 'no colours, like the environment variable NO_COLOR')
    .helpOption('-h, --help', 'show this help')
    .helpCommand('help [command]', 'show the help of a command')
    .addHelpText('after', MORE)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text),
      writeErr: (text) => terminal.err(text),
      outputError: (text, write) => write(text.replace(/^error: /, 'sluice: ')),
      getOutHelpWidth: () => terminal.columns,
      getErrHelpWidth: () => terminal.columns,
      getOutHasColors: () => terminal.hasColour,
      getErrHasColors: () => terminal.hasColour,
    })
    .showHelpAfterError('(--help shows the options and examples)')
}

const MORE = `
Examples:
  sluice init
  sluice check limits.yaml
  sluice simulate --help
  sluice serve --policies limits.yaml --redis redis://127.0.0.1:6379
  sluice top
  sluice inspect user:42 --policies limits.yaml --policy api --redis redis://127.0.0.1:6379
  sluice scripts print sliding-window > sliding-window.lua

Exit codes:
  0  done
  1  failed: Redis does not answer, a check found something
  2  wrong usage: an unknown option, a bad rule, a mistake in a file; nothing was done

Environment:
  SLUICE_REDIS_URL   the default of --redis; hides the password from the process list
  SLUICE_TOKEN       the token of a service, the default of --token-file
  NO_COLOR           no colours; FORCE_COLOR keeps them in a pipe
`

function isPlain(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  return args.slice(0, end < 0 ? undefined : end).includes('--no-color')
}

function reportError(terminal: Terminal, message: string, exitCode: number): number {
  terminal.err(`sluice: ${printableLines(message)}\n`)
  return exitCode
}
