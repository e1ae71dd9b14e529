import type { Limiter } from '../../limiter/limiter.ts'
import type { Colors } from '../terminal/colors.ts'
import { formatDuration } from '../terminal/format-duration.ts'
import { printable, printableJson } from '../terminal/printable.ts'
import { formatTable } from '../terminal/table.ts'
import type { Started } from './started.ts'

/** What people read first: where it is, by which policies it decides, and how to ask it. */
export function composeGreeting({ url, page, reads, service, token, place, file }: Started, colors: Colors): string {
  const limiters = service.limiters()
  const rows = limiters.flatMap(composeRows).map((row) => ['', ...row.map(printable)])
  const store = place === undefined ? 'the memory of this process' : `Redis at ${printable(place)}`
  return `Sluice decides at ${colors.bold(url)}, with ${store}.

  page      ${colors.bold(page)}
  metrics   ${url}/metrics
  reads     ${reads}

${file === undefined ? 'Example policies' : `Policies of ${printable(file)}`}:

${formatTable(rows)}
Try it:

  ${composeCurl(url, token.inShell, limiters[0] as Limiter<string>)}

Stop it with Ctrl-C.
`
}

function composeRows({ name, rules, shadows }: Limiter<string>): string[][] {
  return Object.entries(rules).map(([tier, { kind, parameters }], index) => {
    const numbers = Object.entries(parameters).filter(([option]) => !DETAILS.includes(option))
    const options = numbers.map(([option, value]) => formatOption(option, value))
    if (shadows.includes(tier)) options.push('shadow')
    return [index === 0 ? name : '', tier === name ? '' : tier, kind, options.join(', ')]
  })
}

/** What few people set, and fewer want to read here. */
const DETAILS = ['maxDebt', 'anchor']

function formatOption(option: string, value: number | string): string {
  return option.endsWith('Ms') ? `${option.slice(0, -2)} ${formatDuration(Number(value))}` : `${option} ${value}`
}

function composeCurl(url: string, token: string, { name }: Limiter<string>): string {
  const body = printableJson({ policy: name, key: 'user:42' }).trimEnd().replaceAll("'", `'\\''`)
  return `curl ${url}/v1/consume -H "authorization: Bearer ${token}" -H 'content-type: application/json' \\
    -d '${body}'`
}
