import { setTimeout as delay } from 'node:timers/promises'
import { duration } from '../../core/duration.ts'
import type { LiveReport } from '../../observe/live-report.ts'
import type { RegisterCommand } from '../command/command.ts'
import {
  createServiceClient,
  readToken,
  SERVICE_URL,
  type ServiceClient,
  TOKEN_OPTION,
} from '../command/service-client.ts'
import { chooseColors } from '../terminal/colors.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { printable, printableJson } from '../terminal/printable.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { Screen } from './screen.ts'
import { composeTopLines } from './top-lines.ts'

/** `sluice top`: what a running service decides, as it happens. */
export const registerTop: RegisterCommand = (program, terminal) => {
  program
    .command('top')
    .description('show what a running service decides, every second; q ends it')
    .option('--url <url>', 'the URL of the service', SERVICE_URL)
    .option(...TOKEN_OPTION)
    .option('--every <duration>', 'how often to draw', '1s')
    .option('--once', 'print once, as in a pipe')
    .option('--json', 'print the report as JSON, once')
    .addHelpText('after', EXAMPLES)
    .action(async (options: TopOptions) => {
      const everyMs = duration(options.every)
      const ending = new AbortController()
      terminal.signal.addEventListener('abort', () => ending.abort())
      const { signal } = ending
      const service = createServiceClient(options.url, await readToken(options.tokenFile, terminal), signal)
      const report = await fetchReport(service)
      if (options.json) terminal.out(printableJson(report, 2))
      else if (options.once || !terminal.isInteractive)
        terminal.out(`${draw(report, service, terminal, undefined).join('\n')}\n`)
      else await watch(service, report, { terminal, everyMs, signal, end: () => ending.abort() })
    })
}

interface TopOptions {
  readonly url: string
  readonly tokenFile?: string
  readonly every: string
  readonly once?: true
  readonly json?: true
}

interface Watching {
  readonly terminal: Terminal
  readonly everyMs: number
  readonly signal: AbortSignal
  readonly end: () => void
}

const CTRL_C = '\u0003'

async function watch(service: ServiceClient, first: LiveReport, watching: Watching): Promise<void> {
  const { terminal, everyMs, signal, end } = watching
  const stopListening = terminal.keyboard?.onKey((key) => {
    if (key === 'q' || key === 'Q' || key === CTRL_C) end()
  })
  const screen = new Screen(terminal)
  let report = first
  let trouble: string | undefined
  try {
    while (!signal.aborted) {
      const lines = draw(report, service, terminal, terminal.rows)
      screen.show(
        trouble === undefined
          ? lines
          : [chooseColors(terminal).red(printable(trouble)), ...lines].slice(0, terminal.rows),
      )
      await delay(everyMs, undefined, { signal }).catch(() => {})
      if (signal.aborted) break
      // A service that is away for a while is waited for: what it said last stays in view.
      await fetchReport(service).then(
        (next) => {
          report = next
          trouble = undefined
        },
        (error: Error) => {
          trouble = error.message
        },
      )
    }
  } finally {
    stopListening?.()
    screen.close()
  }
}

function draw(report: LiveReport, service: ServiceClient, terminal: Terminal, rows: number | undefined) {
  return composeTopLines(report, service.place, { columns: terminal.columns, rows }, chooseColors(terminal))
}

async function fetchReport(service: ServiceClient): Promise<LiveReport> {
  const reply = (await service.get('/v1/live')) as Partial<LiveReport> | null
  if (Array.isArray(reply?.seconds) && Array.isArray(reply.policies)) return reply as LiveReport
  throw new CommandFailure(`${service.place} is not a Sluice service: it sent no live report`)
}

const EXAMPLES = `
Examples:
  sluice top
  sluice top --url http://10.0.0.5:8080 --token-file token.txt
  sluice top --json | jq '.mostRefused[0].key'
`
