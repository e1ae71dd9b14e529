import { type Command, Option } from 'commander'
import type { RegisterCommand } from '../command/command.ts'
import { listRuleExamples } from '../command/rule-text.ts'
import { REDIS_OPTION } from '../redis/redis-option.ts'
import { FORMATS, type SimulateOptions, simulateCommand } from './simulate-command.ts'
import { summaryCommand } from './summary-command.ts'
import { TRACE_FORMATS } from './trace-line.ts'
import { TRAFFIC } from './traffic-choice.ts'

/** `sluice simulate`: rules against traffic, on virtual time. */
export const registerSimulate: RegisterCommand = (program, terminal) => {
  const command = program.command('simulate').description('play traffic through rules on virtual time, side by side')
  addWhat(command)
  addTraffic(command)
  addOutput(command)
  command
    .addHelpText('after', EXAMPLES)
    .action((options: SimulateOptions) =>
      options.summary === true ? summaryCommand(options, terminal) : simulateCommand(options, terminal),
    )
}

function addWhat(command: Command): void {
  const rule = new Option('-r, --rule <text>', 'a rule and its options; may be repeated')
    .argParser((text: string, before: readonly string[]) => [...before, text])
    .default([], 'every rule at 100 a minute')
  command
    .addOption(rule)
    .option('-p, --policies <file>', 'the rules of a file of policies')
    .option('--summary', 'measure every rule on all kinds of traffic, and nothing else')
}

function addTraffic(command: Command): void {
  command
    .addOption(new Option('-t, --traffic <kind>', 'traffic to make').choices(TRAFFIC).default('poisson'))
    .option('--rate <rate>', 'poisson, steady: requests, such as 120/s or 100/m (default: a fifth too many)')
    .option('--burst <requests>', 'bursts: requests of one (default: 80 % of the limit)')
    .option('--burst-length <time>', 'bursts: how long one lasts (default: a twenty-fifth of the window)')
    .option('--pause <time>', 'bursts: the pause between two, on average (default: half a window)')
    .option('--duration <time>', 'how long it goes on (default: 30 windows)')
    .option('--keys <number>', 'how many keys come, the first ones more often (default: 1)')
    .option('--cost <number>', 'what a request costs, or from-to such as 1-5 (default: 1)')
    .option('--work <time>', 'how long the work of a request takes, for concurrency')
    .option('--seed <number>', 'the same seed makes the same traffic (default: 1)')
    .option('-f, --trace <file>', 'play a file instead: JSON lines, CSV or an access log, also .gz')
    .addOption(new Option('--trace-format <format>', 'what it is (default: what it looks like)').choices(TRACE_FORMATS))
    .addOption(
      new Option('--log-key <who>', 'access log: whom a line is about').choices(['address', 'user']).default('address'),
    )
    .option('--skip-bad-lines', 'leave out lines that cannot be read, and tell how many')
}

function addOutput(command: Command): void {
  command
    .addOption(new Option('--format <format>', 'what to print').choices(FORMATS).default('table'))
    .option('--json', 'the same as --format json')
    .option('--svg <file>', 'also write a picture')
    .option('--slots <number>', 'into how many parts the time is cut, for charts and JSON')
    .option('--watch <key>', 'the key whose remaining the slots of the JSON tell (default: the first one)')
    .option(REDIS_OPTION[0], 'also measure what a key of each rule takes on this Redis')
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
  sluice simulate --summary --redis redis://127.0.0.1:6379
`
