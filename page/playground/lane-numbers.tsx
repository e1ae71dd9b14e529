import type { ComponentChildren, JSX } from 'preact'
import type { Rule } from '../../src/core/rule.ts'
import type { Result } from '../../src/simulate/simulation.ts'
import { formatDuration } from '../words/lengths.ts'
import { formatBytes, formatCount, formatCounted, formatShare } from '../words/numbers.ts'

/** The numbers by which rules are compared. */
export function LaneNumbers(props: { rule: Rule; result: Result; decisionNs: number | undefined }): JSX.Element {
  const { rule, result, decisionNs } = props
  const { admitted, refused, offered, worstWindow, worstOverLimit, peakKeys, peakBytes } = result
  const over = `${Math.round(worstOverLimit * 100) / 100}×`
  return (
    <dl class="facts numbers">
      <Fact name="Admitted" id="admitted">
        <b>{formatCount(admitted)}</b> <span class="note">{formatShare(admitted, offered)}</span>
      </Fact>
      <Fact name="Rejected" id="refused">
        <b>{formatCount(refused)}</b> <span class="note">{formatShare(refused, offered)}</span>
      </Fact>
      <Fact name={rule.windowMs === undefined ? 'Most at once' : 'Worst window'} id="worst">
        <b class={worstOverLimit > 1 ? 'over' : ''}>{formatCount(worstWindow)}</b>{' '}
        <span class="note">
          {over} the limit of {formatCount(rule.limit)}
          {rule.windowMs === undefined ? '' : ` in ${formatDuration(rule.windowMs)}`}
        </span>
      </Fact>
      {result.longestDelayMs === 0 ? null : (
        <Fact name="Longest delay" id="delay">
          <b>{formatDuration(result.longestDelayMs)}</b>{' '}
          <span class="note">{formatDuration(result.meanDelayMs)} on average</span>
        </Fact>
      )}
      <Fact name="Memory" id="memory">
        <b>{formatBytes(peakBytes)}</b> <span class="note">{formatCounted(peakKeys, 'key')} at most</span>
      </Fact>
      <Fact name="Per decision" id="cost">
        <b>{decisionTime(decisionNs)}</b> <span class="note">in this browser</span>
      </Fact>
    </dl>
  )
}

function Fact(props: { name: string; id: string; children: ComponentChildren }): JSX.Element {
  return (
    <>
      <dt>{props.name}</dt>
      <dd data-number={props.id}>{props.children}</dd>
    </>
  )
}

// Browsers blur their clocks, so more digits would be made up.
function decisionTime(nanoseconds: number | undefined): string {
  if (nanoseconds === undefined) return '…'
  return `≈ ${Number((nanoseconds / 1_000).toPrecision(2))} µs`
}
