import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { PrefetchResult } from '../../src/simulate/simulate-prefetch.ts'
import type { Contestant, Trace } from '../../src/simulate/simulation.ts'
import { ColumnHeads } from '../frame/column-heads.tsx'
import { Panel } from '../frame/panel.tsx'
import { formatCount, formatCounted, formatShare } from '../words/numbers.ts'
import { playInSlices } from './play-in-slices.ts'
import { MOST_SHARED, startPrefetchRun } from './prefetch-run.ts'
import { type Made, nameLanes, type RuleChoice } from './rule-choice.ts'

/** What prefetch would spare when several processes on one Redis share the traffic. */
export function PrefetchPanel(props: {
  choices: readonly RuleChoice[]
  made: readonly Made[]
  trace: Trace
  processes: number
}): JSX.Element {
  const { choices, made, processes } = props
  const names = nameLanes(choices)
  const lanes = made.flatMap((one, index): Contestant[] =>
    'rule' in one ? [{ name: names[index] as string, rule: one.rule }] : [],
  )
  const results = usePrefetchRun(lanes, props)
  const unable = lanes.filter(({ rule }) => rule.prefetches !== true)
  return (
    <Panel title={`Prefetch, in ${formatCounted(processes, 'process', 'processes')} on one Redis`} class="summary">
      {results === undefined ? <p class="empty">Playing every process…</p> : <PrefetchTable results={results} />}
      <p class="quiet-note">
        {unable.length === 0 ? '' : `Not played: ${unable.map(describeUnable).join(', ')}. `}
        Calls: requests to Redis, of those without prefetch. Lost: what passed only without prefetch. A key with fewer
        than 8 requests in 100 ms in one process saves none.
        {results?.[0]?.requests === MOST_SHARED
          ? ` Only the first ${formatCount(MOST_SHARED)} requests are played.`
          : ''}
      </p>
    </Panel>
  )
}

function describeUnable({ name, rule }: Contestant): string {
  return 'tiers' in rule ? `${name} with its tiers` : `${name}, which cannot prefetch`
}

function PrefetchTable({ results }: { results: readonly PrefetchResult[] }): JSX.Element | null {
  if (results.length === 0) return null
  return (
    <table class="stacked" aria-label="Prefetch">
      <ColumnHeads of="Rule" numbers={['Calls', 'Saved', 'Admitted', 'Lost']} />
      <tbody>
        {results.map(({ name, calls, callsWithout, saved, admitted, admittedWithout, lost }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td class="number">
              {formatCount(calls)} <span class="note">of {formatCount(callsWithout)}</span>
            </td>
            <td class="number">{formatShare(saved, callsWithout)}</td>
            <td class="number">{formatCount(admitted)}</td>
            <td class="number">
              {formatCount(lost)} <span class="note">{formatShare(lost, admittedWithout)}</span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** The results of the rules that can prefetch; `undefined` until they are there for the first time. */
function usePrefetchRun(
  lanes: readonly Contestant[],
  { made, trace, processes }: { made: readonly Made[]; trace: Trace; processes: number },
): readonly PrefetchResult[] | undefined {
  const [results, setResults] = useState<readonly PrefetchResult[] | undefined>()
  useEffect(() => {
    const able = lanes.filter(({ rule }) => rule.prefetches === true)
    const run = startPrefetchRun(able, trace, processes)
    return playInSlices(run, SETTLED_MS, (isDone) => {
      if (isDone) setResults(run.results())
    })
  }, [made, trace, processes])
  return results
}

/** Long enough that the rules of the reader, and the table of every rule, are played before. */
const SETTLED_MS = 900
