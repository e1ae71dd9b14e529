import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Rule } from '../../src/core/rule.ts'
import { listRuleVariants } from '../../src/simulate/rule-variants.ts'
import { readSpanMs } from '../../src/simulate/simulated-store.ts'
import type { Result, Trace } from '../../src/simulate/simulation.ts'
import { ColumnHeads } from '../frame/column-heads.tsx'
import { Panel } from '../frame/panel.tsx'
import { spellDuration } from '../words/lengths.ts'
import { describePer } from '../words/limit-words.ts'
import { formatBytes, formatCount, formatShare } from '../words/numbers.ts'
import { playInSlices } from './play-in-slices.ts'
import { RULE_FORMS } from './rule-choice.ts'
import { startRun } from './run.ts'

/** Every rule there is on the chosen traffic, all at the limit and the window of the first rule. */
export function SummaryPanel({ rule, trace }: { rule: Rule; trace: Trace }): JSX.Element {
  const results = useSummary(rule, trace)
  const per = `${formatCount(rule.limit)} ${describePer(readSpanMs(rule))}`
  return (
    <Panel title={`Every rule at ${per}, on this traffic`} class="summary">
      {results === undefined ? <p class="empty">Playing every rule…</p> : <SummaryTable results={results} />}
      <p class="quiet-note">
        Worst window: the most that passed for one key in any {spellDuration(readSpanMs(rule))}. Memory: the numbers of
        all keys at their peak, eight bytes each.
      </p>
    </Panel>
  )
}

function SummaryTable({ results }: { results: readonly Result[] }): JSX.Element {
  return (
    <table class="stacked" aria-label="Every rule">
      <ColumnHeads of="Rule" numbers={['Admitted', 'Rejected', 'Worst window', 'Memory']} />
      <tbody>
        {results.map(({ name, admitted, refused, offered, worstWindow, worstOverLimit, peakBytes }) => (
          <tr key={name}>
            <th scope="row">
              {name} <span class="note">{USES.get(name)}</span>
            </th>
            <td class="number">{formatCount(admitted)}</td>
            <td class="number">
              {formatCount(refused)} <span class="note">{formatShare(refused, offered)}</span>
            </td>
            <td class={worstOverLimit > 1 ? 'number over' : 'number'}>
              {formatCount(worstWindow)} <span class="note">{Math.round(worstOverLimit * 100) / 100}×</span>
            </td>
            <td class="number">{formatBytes(peakBytes)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const USES: ReadonlyMap<string, string> = new Map(RULE_FORMS.flatMap(({ uses }) => Object.entries(uses)))

/** The results of every rule; `undefined` until they are there for the first time. */
function useSummary(rule: Rule, trace: Trace): readonly Result[] | undefined {
  const [results, setResults] = useState<readonly Result[] | undefined>()
  useEffect(() => {
    // Rules that count work in progress have no window to compare.
    const contestants = listRuleVariants(rule.limit, readSpanMs(rule)).filter((one) => one.rule.windowMs !== undefined)
    const run = startRun(contestants, trace)
    return playInSlices(run, SETTLED_MS, (isDone) => {
      if (isDone) setResults(run.outcome().results)
    })
  }, [rule, trace])
  return results
}

/** Long enough that the rules of the reader are played before. */
const SETTLED_MS = 500
