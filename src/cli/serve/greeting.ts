import { readDuration } from '../../core/duration.ts'
import type { Rule } from '../../core/rule.ts'
import type { LimitOptions } from '../../limiter/options.ts'
import type { Policy } from '../../policies/read-policies.ts'
import { formatParameter } from '../command/format-parameter.ts'
import type { Colors } from '../terminal/colors.ts'
import { formatDuration } from '../terminal/format-duration.ts'
import { printable, printableJson } from '../terminal/printable.ts'
import { formatTable } from '../terminal/table.ts'
import type { Started } from './started.ts'

/** What people read first: where it is, by which policies it decides, and how to ask it. */
export function composeGreeting({ url, page, reads, policies, token, place, file }: Started, colors: Colors): string {
  const rows = policies.flatMap(composeRows).map((row) => ['', ...row.map(printable)])
  const store = place === undefined ? 'the memory of this process' : `Redis at ${printable(place)}`
  return `Sluice decides at ${colors.bold(url)}, with ${store}.

  page      ${colors.bold(page)}
  metrics   ${url}/metrics
  reads     ${reads}

${file === undefined ? 'Example policies' : `Policies of ${printable(file)}`}:

${formatTable(rows)}
Try it:

  ${composeCurl(url, token.inShell, policies[0] as Policy)}

Stop it with Ctrl-C.
`
}

function composeRows({ name, options }: Policy): string[][] {
  const limits: Readonly<Record<string, Rule | LimitOptions>> = options.tiers ?? { '': options }
  return Object.entries(limits).map(([tier, limit], index) => {
    const { prefetch = false } = options
    return composeRow(index === 0 ? name : '', tier, { prefetch, ...('rule' in limit ? limit : { rule: limit }) })
  })
}

function composeRow(policy: string, tier: string, { rule, shadow, blockFor, prefetch }: LimitOptions): string[] {
  const { kind, parameters, prefetches } = rule
  const numbers = Object.entries(parameters).filter(([option]) => !DETAILS.includes(option))
  const options = numbers.map(([option, value]) => formatParameter(option, value))
  if (blockFor !== undefined) options.push(`blockFor ${formatDuration(readDuration('blockFor', blockFor))}`)
  if (shadow === true) options.push('shadow')
  if (prefetches === true && prefetch !== false) options.push('prefetch')
  return [policy, tier, kind, options.join(', ')]
}

/** What few people set, and fewer want to read here. */
const DETAILS = ['maxDebt', 'anchor']

function composeCurl(url: string, token: string, { name }: Policy): string {
  const body = printableJson({ policy: name, key: 'user:42' }).trimEnd().replaceAll("'", `'\\''`)
  return `curl ${url}/v1/consume -H "authorization: Bearer ${token}" -H 'content-type: application/json' \\
    -d '${body}'`
}
