import type { JSX } from 'preact'
import type { LiveReport } from '../../src/observe/live-report.ts'
import { formatDuration, formatLatency } from '../words/lengths.ts'
import { formatCount, formatRate, formatShare } from '../words/numbers.ts'
import { sumRecent } from './recent.ts'
import { describeShownTime } from './time-lines.ts'

/** The few numbers that matter at a glance, over the last ten seconds. */
export function Tiles({ report }: { report: LiveReport }): JSX.Element {
  const { seconds, store } = report
  const now = sumRecent(seconds, NOW_S)
  const lately = sumRecent(seconds, seconds.length)
  const asked = now.allowedPerSecond + now.refusedPerSecond
  return (
    <dl class="tiles">
      <Tile name="Allowed" value={formatRate(now.allowedPerSecond)} unit="/s" mark="allowed" />
      <Tile
        name="Rejected"
        value={formatRate(now.refusedPerSecond)}
        unit="/s"
        mark="refused"
        note={asked === 0 ? 'last 10 s' : `${formatShare(now.refusedPerSecond, asked)} of requests`}
      />
      <Tile name="Latency p50" value={formatLatency(now.p50Ms)} note={`p99 ${formatLatency(now.p99Ms)}`} />
      <Tile
        name="Would reject"
        value={formatCount(lately.wouldRefuse)}
        note={`limits in shadow mode, ${describeShownTime(report)}`}
      />
      <Tile
        name="Store"
        value={store.state === 'healthy' ? 'Healthy' : 'Degraded'}
        isBad={store.state !== 'healthy'}
        note={store.state === 'healthy' ? store.kind : `${store.kind}, for ${formatDuration(store.forMs)}`}
      />
    </dl>
  )
}

function Tile(props: {
  name: string
  value: string
  unit?: string
  note?: string
  mark?: 'allowed' | 'refused'
  isBad?: boolean
}): JSX.Element {
  return (
    <div class={`tile ${props.isBad === true ? 'bad' : ''}`}>
      <dt>
        {props.mark === undefined ? null : <span class={`swatch ${props.mark}`} aria-hidden="true" />}
        {props.name}
      </dt>
      <dd>
        <span class="value">{props.value}</span>
        {props.unit === undefined ? null : <span class="unit">{props.unit}</span>}
        <span class="note">{props.note ?? 'last 10 s'}</span>
      </dd>
    </div>
  )
}

const NOW_S = 10
