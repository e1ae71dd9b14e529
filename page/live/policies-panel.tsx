import type { JSX } from 'preact'
import type { LivePolicy, LiveTier } from '../../src/observe/live-report.ts'
import { ColumnHeads } from '../frame/column-heads.tsx'
import { Panel } from '../frame/panel.tsx'
import { describeLimit } from '../words/limit-words.ts'
import { formatCount } from '../words/numbers.ts'
import { listChoices } from './selection.ts'

/** The policies in force, each with its limits and what came of them since the start. */
export function PoliciesPanel(props: {
  policies: readonly LivePolicy[]
  select: (value: string) => void
}): JSX.Element {
  const { policies } = props
  return (
    <Panel title="Policies" class="broad">
      {policies.length === 0 ? <p class="empty">There are no policies.</p> : null}
      {policies.length === 0 ? null : (
        <table class="policies stacked">
          <ColumnHeads of="Policy" numbers={['Allowed', 'Rejected', 'Near limit']} />
          {policies.map((policy) => (
            <PolicyRows
              key={policy.name}
              policy={policy}
              select={() => props.select(findChoice(policies, policy.name))}
            />
          ))}
        </table>
      )}
    </Panel>
  )
}

function PolicyRows({ policy, select }: { policy: LivePolicy; select: () => void }): JSX.Element {
  const [only] = policy.tiers
  const isOne = policy.tiers.length === 1 && only !== undefined
  return (
    <tbody>
      <tr>
        <th scope="row">
          <button type="button" class="link" title="Show it on the time line" onClick={select}>
            {policy.name}
          </button>
          <span class="note">{isOne ? describeRule(only) : `${policy.tiers.length} tiers`}</span>
          {isOne ? <Marks tier={only} /> : null}
        </th>
        <td class="number">{formatCount(policy.allowed)}</td>
        <td class="number">{formatCount(policy.refused)}</td>
        <td class="number">{isOne ? formatCount(only.near) : ''}</td>
      </tr>
      {isOne ? null : policy.tiers.map((tier) => <TierRow key={tier.name} tier={tier} />)}
    </tbody>
  )
}

function TierRow({ tier }: { tier: LiveTier }): JSX.Element {
  return (
    <tr class="tier">
      <th scope="row">
        {tier.name}
        <span class="note">{describeRule(tier)}</span>
        <Marks tier={tier} />
      </th>
      <td class="number" />
      <td class="number">{tier.isShadow ? '' : formatCount(tier.refused)}</td>
      <td class="number">{formatCount(tier.near)}</td>
    </tr>
  )
}

function describeRule(tier: LiveTier): string {
  return `${tier.kind}, ${describeLimit(tier)}`
}

function Marks({ tier }: { tier: LiveTier }): JSX.Element {
  return (
    <>
      {tier.isPrefetched ? <span class="pill mark">prefetch</span> : null}
      {tier.isShadow ? (
        <span class="pill mark">shadow mode: would have rejected {formatCount(tier.refused)}</span>
      ) : null}
    </>
  )
}

function findChoice(policies: readonly LivePolicy[], name: string): string {
  return listChoices(policies).find(({ label }) => label === name)?.value ?? ''
}
