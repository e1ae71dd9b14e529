import { InvalidArgumentError } from 'commander'
import type { RegisterCommand } from '../command/command.ts'
import { REDIS_OPTION } from '../redis/redis-option.ts'
import { type ServeOptions, serve } from './serve.ts'

/** `sluice serve`: policies as an HTTP service, with a page to look at. */
export const registerServe: RegisterCommand = (program, terminal) => {
  program
    .command('serve')
    .description('decide over HTTP by the policies of a file, and show on a page what happens')
    .option('--policies <file>', 'policies in YAML or JSON (default: one to try things out with)')
    .option(...REDIS_OPTION)
    .option('--host <address>', 'where to listen; beyond this machine only with a token of yours', '127.0.0.1')
    .option('--port <number>', 'where to listen (default: 8080, or any other that is free)', portNumber)
    .option('--token-file <file>', 'what clients have to send to change anything (default: SLUICE_TOKEN, or a new one)')
    .option(
      '--allow-host <name...>',
      'other names for this machine, which a proxy passes on: reads need the token then',
    )
    .option('--no-watch', 'do not read the policies anew when the file changes, only on SIGHUP')
    .option('--max-body <bytes>', 'the longest body of a request', byteCount, 1_048_576)
    .option('--rls <address>', "Envoy's rate limit service, over gRPC; needs @grpc/grpc-js")
    .option('--rls-config <file...>', 'rate limits of Envoy in YAML, a file for each domain')
    .option('--demo', 'make some traffic, so that there is something to see')
    .option('--json', 'tell what happens in lines of JSON')
    .addHelpText('after', EXAMPLES)
    .action((options: ServeOptions) => serve(options, terminal))
}

const EXAMPLES = `
Examples:
  sluice serve --demo
  sluice serve --policies limits.yaml
  sluice serve --policies limits.yaml --redis redis://127.0.0.1:6379 --host 0.0.0.0 --token-file token.txt
  sluice serve --rls 127.0.0.1:8081 --rls-config envoy.yaml
`

function portNumber(text: string): number {
  return wholeFrom(text, 0, 65_535)
}

function byteCount(text: string): number {
  return wholeFrom(text, 1, 2 ** 30)
}

function wholeFrom(text: string, min: number, max: number): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= min && value <= max) return value
  throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
}
