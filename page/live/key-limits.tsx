import type { JSX } from 'preact'
import type { LivePolicy } from '../../src/observe/live-report.ts'
import { ColumnHeads } from '../frame/column-heads.tsx'
import { formatDuration } from '../words/lengths.ts'
import { describeLimit } from '../words/limit-words.ts'
import { formatCount } from '../words/numbers.ts'
import type { DecisionJson } from './service-client.ts'

/** What each limit of a policy has counted for a key. */
export function KeyLimits({ policy, decision }: { policy: LivePolicy; decision: DecisionJson }): JSX.Element {
  return (
    <table class="stacked">
      <ColumnHeads of="Limit" numbers={['Used', 'Remaining', 'Resets in']} />
      <tbody>
        {policy.tiers.map((tier) => {
          // A policy of one rule has its numbers in the decision, and a key may leave a tier out.
          const result = policy.tiers.length === 1 ? (decision.tiers[tier.name] ?? decision) : decision.tiers[tier.name]
          if (result === undefined) return null
          const { limit, remaining, resetAfterMs, reason } = result
          return (
            <tr key={tier.name}>
              <th scope="row">
                {tier.name} <span class="note">{describeLimit(tier)}</span>
              </th>
              <td class="number">{reason === 'blocked' ? '—' : formatCount(limit - remaining)}</td>
              <td class="number">{formatCount(remaining)}</td>
              <td class="number">{resetAfterMs === 0 ? 'untouched' : formatDuration(resetAfterMs)}</td>
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}
