import { type Command, Option } from 'commander'
import type { RegisterCommand } from '../command/command.ts'
import { listRuleExamples } from '../command/rule-text.ts'
import { REDIS_OPTION } from '../redis/redis-option.ts'
import { prefetchCommand } from './prefetch-command.ts'
import { FORMATS, type SimulateOptions, simulateCommand } from './simulate-command.ts'
import { summaryCommand } from './summary-command.ts'
import { TRACE_FORMATS } from './trace-line.ts'
import { TRAFFIC } from './traffic-choice.ts'

/** `sluice simulate`: rules against traffic, on virtual time. */
export const registerSimulate: RegisterCommand = (program, terminal) => {
  const command = program
    .command('simulate')
    .description('play traffic through rules in virtual time, and compare them')
  addWhat(command)
  addTraffic(command)
  addOutput(command)
  command.addHelpText('after', EXAMPLES).action((options: SimulateOptions) => chooseCommand(options)(options, terminal))
}

function chooseCommand({ summary, prefetch }: SimulateOptions): typeof simulateCommand {
  if (prefetch === true) return prefetchCommand
  return summary === true ? summaryCommand : simulateCommand
}

function addWhat(command: Command): void {
  const rule = new Option('-r, --rule <text>', 'a rule and its options; may be repeated')
    .argParser((text: string, before: readonly string[]) => [...before, text])
    .default([], 'every rule at 100 a minute')
  command
    .addOption(rule)
    .option('-p, --policies <file>', 'take the rules of a policies file')
    .option('--summary', 'measure every rule on every kind of traffic')
    .option('--prefetch', 'play processes that share the traffic and prefetch, beside others that do not')
    .option('--processes <number>', 'prefetch: the number of processes, 1 to 1000 (default: 4)')
}

function addTraffic(command: Command): void {
  command
    .addOption(new Option('-t, --traffic <kind>', 'the kind of traffic').choices(TRAFFIC).default('poisson'))
    .option('--rate <rate>', 'poisson, steady: requests per time, such as 120/s or 100/m (default: 120 % of the limit)')
    .option('--burst <requests>', 'bursts: requests in a burst (default: 80 % of the limit)')
    .option('--burst-length <time>', 'bursts: the duration of a burst (default: 4 % of the window)')
    .option('--pause <time>', 'bursts: the mean pause between bursts (default: half a window)')
    .option('--duration <time>', 'the duration of the traffic (default: 30 windows; with --prefetch 10 s)')
    .option('--keys <number>', 'the number of keys; low numbers come more often (default: 1)')
    .option('--cost <number>', 'the cost of a request, or a range such as 1-5 (default: 1)')
    .option('--work <time>', 'concurrency: how long a request works')
    .option('--seed <number>', 'the same seed gives the same traffic (default: 1)')
    .option('-f, --trace <file>', 'play a file: JSON lines, CSV or an access log, also .gz')
    .addOption(
      new Option('--trace-format <format>', 'the format of the file (default: detected)').choices(TRACE_FORMATS),
    )
    .addOption(
      new Option('--log-key <who>', 'access log: the key of a line').choices(['address', 'user']).default('address'),
    )
    .option('--skip-bad-lines', 'skip lines that cannot be read, and print how many')
}

function addOutput(command: Command): void {
  command
    .addOption(new Option('--format <format>', 'the output').choices(FORMATS).default('table'))
    .option('--json', 'the same as --format json')
    .option('--svg <file>', 'also write a picture to a file')
    .option('--slots <number>', 'the number of time slots in charts and JSON')
    .option('--watch <key>', 'JSON: the key whose remaining each slot has (default: the first key)')
    .option(REDIS_OPTION[0], 'also measure the bytes of a key of each rule on this Redis')
}

const EXAMPLES = `
Rules:
${listRuleExamples()
  .map((example) => `  --rule '${example}'`)
  .join('\n')}

Examples:
  sluice simulate
  sluice simulate --traffic adversary --format chart
  sluice simulate --rule 'sliding-window limit=100 window=1m' --rule 'token-bucket capacity=100 refill=100 period=1m' --rate 150/m
  sluice simulate --policies limits.yaml --trace access.log --log-key user
  sluice simulate --prefetch --processes 16 --rule 'sliding-window limit=1000000 window=1m' --rate 15000/s
  sluice simulate --summary --redis redis://127.0.0.1:6379
`
