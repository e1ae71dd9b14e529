import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { LiveKey } from '../../src/observe/live-report.ts'
import { ColumnHeads } from '../frame/column-heads.tsx'
import { Panel } from '../frame/panel.tsx'
import { formatCount } from '../words/numbers.ts'

/** How many keys are shown before the reader asks for all. */
const FEW = 6

/** Keys and the recent decisions about them. */
export function KeyTable(props: {
  title: string
  since: string
  keys: readonly LiveKey[]
  /** What was allowed, since when. */
  allowed: string
  empty: string
  open: (entry: LiveKey) => void
}): JSX.Element {
  const { title, keys } = props
  const [showsAll, setShowsAll] = useState(false)
  if (keys.length === 0) {
    return (
      <Panel title={title}>
        <p class="empty">{props.empty}</p>
      </Panel>
    )
  }
  return (
    <Panel title={title} aside={<span class="note">{props.since}</span>}>
      <KeyRows {...props} keys={showsAll ? keys : keys.slice(0, FEW)} />
      {keys.length <= FEW ? null : (
        <button type="button" class="link more" aria-expanded={showsAll} onClick={() => setShowsAll(!showsAll)}>
          {showsAll ? 'Show fewer' : `Show all ${keys.length}`}
        </button>
      )}
    </Panel>
  )
}

function KeyRows(props: {
  title: string
  allowed: string
  keys: readonly LiveKey[]
  open: (entry: LiveKey) => void
}): JSX.Element {
  const { title, keys } = props
  const most = Math.max(...keys.map(({ allowed, refused }) => allowed + refused))
  return (
    <table class="keys" aria-label={title}>
      <ColumnHeads of="Key" numbers={[props.allowed, 'Rejected']} />
      <tbody>
        {keys.map((entry) => (
          <KeyRow key={`${entry.policy} ${entry.key}`} entry={entry} most={most} open={() => props.open(entry)} />
        ))}
      </tbody>
    </table>
  )
}

function KeyRow({ entry, most, open }: { entry: LiveKey; most: number; open: () => void }): JSX.Element {
  const { key, policy, allowed, refused, error } = entry
  return (
    <tr>
      <th scope="row">
        <button type="button" class="link key" title="Show what is stored of this key" onClick={open}>
          {key}
        </button>
        <span class="note">
          {policy}
          {error > 0 ? `, up to ${formatCount(error)} more` : ''}
        </span>
        <span class="bar" aria-hidden="true">
          <i class="allowed" style={{ width: `${(allowed / most) * 100}%` }} />
          <i class="refused" style={{ width: `${(refused / most) * 100}%` }} />
        </span>
      </th>
      <td class="number">{formatCount(allowed)}</td>
      <td class="number">{formatCount(refused)}</td>
    </tr>
  )
}
