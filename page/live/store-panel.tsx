import type { JSX } from 'preact'
import type { LiveReport } from '../../src/observe/live-report.ts'
import { Panel } from '../frame/panel.tsx'
import { formatDuration, formatLatency, formatTimeOfDay } from '../words/lengths.ts'
import { formatCount, formatShare } from '../words/numbers.ts'
import { sumRecent } from './recent.ts'
import { describeShownTime } from './time-lines.ts'

/** Where the state is, whether it answers, and when it did not. */
export function StorePanel({ report }: { report: LiveReport }): JSX.Element {
  const { store, seconds } = report
  const isHealthy = store.state === 'healthy'
  const lately = sumRecent(seconds, 60)
  return (
    <Panel
      title="Store"
      aside={<span class={`pill ${isHealthy ? 'good' : 'bad'}`}>{isHealthy ? 'Healthy' : 'Degraded'}</span>}
    >
      <p class="visually-hidden" role="status">
        The store is {store.state}.
      </p>
      <dl class="facts">
        <dt>Kind</dt>
        <dd>{store.kind === 'redis' ? 'Redis' : 'Memory'}</dd>
        <dt>Address</dt>
        <dd class="place">{store.place}</dd>
        {isHealthy ? null : (
          <>
            <dt>Degraded for</dt>
            <dd>{formatDuration(store.forMs)}</dd>
          </>
        )}
        <dt>Latency, last minute</dt>
        <dd>
          p50 {formatLatency(lately.p50Ms)}, worst p99 {formatLatency(lately.p99Ms)}
        </dd>
        <dt>Decided by, last {describeShownTime(report)}</dt>
        <dd>
          <Deciders decidedBy={sumRecent(seconds, seconds.length).decidedBy} />
        </dd>
      </dl>
      {store.error === null ? null : <p class="alert">{store.error}</p>}
      <Outages report={report} />
    </Panel>
  )
}

function Deciders({ decidedBy }: { decidedBy: Readonly<Record<string, number>> }): JSX.Element {
  const counts = Object.entries(decidedBy).sort(([, one], [, other]) => other - one)
  const total = counts.reduce((sum, [, count]) => sum + count, 0)
  if (total === 0) return <>no decision yet</>
  return (
    <ul class="deciders">
      {counts.map(([name, count]) => (
        <li key={name}>
          {DECIDERS.get(name) ?? name} {formatCount(count)} <span class="note">{formatShare(count, total)}</span>
        </li>
      ))}
    </ul>
  )
}

const DECIDERS: ReadonlyMap<string, string> = new Map([
  ['redis', 'Redis'],
  ['memory', 'Memory'],
  ['prefetch', 'Prefetch'],
  ['denial-cache', 'Denial cache'],
  ['fallback', 'Fallback, without the store'],
])

function Outages({ report: { outages, service } }: { report: LiveReport }): JSX.Element {
  if (outages.length === 0) return <p class="quiet-note">No outage since the service started.</p>
  return (
    <details>
      <summary>
        {outages.length === 1 ? 'One degraded period' : `${outages.length} degraded periods`}, marked on the time lines
      </summary>
      <ol class="outages" reversed>
        {outages.toReversed().map(({ fromMs, toMs, error }) => (
          <li key={fromMs}>
            <b>{formatTimeOfDay(fromMs)}</b> {toMs === null ? 'until now,' : 'for'}{' '}
            {formatDuration((toMs ?? service.nowMs) - fromMs)}
            <span class="note">{error}</span>
          </li>
        ))}
      </ol>
    </details>
  )
}
