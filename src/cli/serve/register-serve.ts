import { InvalidArgumentError } from 'commander'
import type { RegisterCommand } from '../command/command.ts'
import { REDIS_OPTION } from '../redis/redis-option.ts'
import { type ServeOptions, serve } from './serve.ts'

/** `sluice serve`: policies as an HTTP service, with a page to look at. */
export const registerServe: RegisterCommand = (program, terminal) => {
  program
    .command('serve')
    .description('serve decisions over HTTP, with a dashboard')
    .option('--policies <file>', 'the policies file, YAML or JSON (default: examples)')
    .option(...REDIS_OPTION)
    .option('--host <address>', 'the address to listen on; another than loopback needs your own token', '127.0.0.1')
    .option('--port <number>', 'the port to listen on (default: 8080, or a free one if it is taken)', portNumber)
    .option('--token-file <file>', 'a file with the token that changes need (default: SLUICE_TOKEN, or a new token)')
    .option('--allow-host <name...>', 'a host name that a proxy forwards; reads then need the token')
    .option('--no-watch', 'read the policies file again on SIGHUP only, not when it changes')
    .option('--max-body <bytes>', 'the longest request body', byteCount, 1_048_576)
    .option('--rls <address>', "also serve Envoy's rate limit service over gRPC; needs @grpc/grpc-js")
    .option('--rls-config <file...>', "Envoy's rate limit configuration in YAML, a file for each domain")
    .option('--demo', 'send example traffic to the dashboard')
    .option('--json', 'log in lines of JSON')
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
