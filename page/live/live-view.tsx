import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { LiveKey, LiveReport } from '../../src/observe/live-report.ts'
import { formatDuration } from '../words/lengths.ts'
import { ConnectionNote } from './connection-note.tsx'
import { KeyDialog, type OpenedKey } from './key-dialog.tsx'
import { KeyTable } from './key-table.tsx'
import { parseKeyText } from './key-text.ts'
import { LatencyPanel } from './latency-panel.tsx'
import { PoliciesPanel } from './policies-panel.tsx'
import { StorePanel } from './store-panel.tsx'
import { Tiles } from './tiles.tsx'
import { TokenForm } from './token-form.tsx'
import { TrafficPanel } from './traffic-panel.tsx'
import { TryPanel } from './try-panel.tsx'
import { useLive } from './use-live.tsx'

/** What the service does now and did in the last ten minutes. */
export function LiveView(props: { token: string | undefined; keepToken: (token: string) => void }): JSX.Element {
  const connection = useLive(props.token)
  const { phase, report } = connection
  return (
    <div class={`live ${phase}`}>
      <div class="view-head">
        <h1>Live</h1>
        <ConnectionNote connection={connection} />
        {report === undefined ? null : <ServiceLine report={report} />}
      </div>
      {phase === 'locked' ? (
        <TokenForm why={WHY_LOCKED} wasGiven={props.token !== undefined} keepToken={props.keepToken} />
      ) : null}
      {report === undefined ? <Nothing phase={phase} /> : <Report {...props} report={report} />}
    </div>
  )
}

const WHY_LOCKED =
  'Other machines can reach this service, directly or through a proxy. It shows keys and policies only with the token.'

function ServiceLine({ report: { service } }: { report: LiveReport }): JSX.Element {
  const reloads = service.reloads === 0 ? '' : ` · policies reloaded ${service.reloads}×`
  return (
    <p class="service-line">
      sluice {service.version} · up {formatDuration(service.nowMs - service.startedAtMs)}
      {reloads}
    </p>
  )
}

function Nothing({ phase }: { phase: string }): JSX.Element | null {
  if (phase === 'connecting') return <p class="empty">Asking the service…</p>
  if (phase === 'locked') return null
  return (
    <p class="empty">
      No service answers here. Start it with <code>sluice serve</code>; this page then connects. The{' '}
      <a href="#/playground">playground</a> needs no service.
    </p>
  )
}

function Report(props: {
  report: LiveReport
  token: string | undefined
  keepToken: (token: string) => void
}): JSX.Element {
  const { report } = props
  const [selected, select] = useState('')
  const [opened, setOpened] = useState<OpenedKey | undefined>()
  const open = (entry: LiveKey): void => {
    const policy = report.policies.find(({ name }) => name === entry.policy)
    if (policy === undefined) return
    const key = parseKeyText(
      entry.key,
      policy.tiers.map(({ name }) => name),
    )
    setOpened({ policy, key, text: entry.key })
  }
  return (
    <>
      {report.service.reloadError === null ? null : (
        <p class="alert" role="alert">
          <b>The policies on disk are not in force.</b> {report.service.reloadError}
        </p>
      )}
      <Tiles report={report} />
      <div class="grid">
        <TrafficPanel report={report} selected={selected} select={select} />
        <LatencyPanel report={report} />
        <StorePanel report={report} />
        <KeyTable
          title="Busiest keys"
          since={`in the last ${formatDuration(report.service.nowMs - report.keysSinceMs)}`}
          keys={report.busiest}
          allowed="Allowed"
          empty="No requests in this time."
          open={open}
        />
        <KeyTable
          title="Most rejected keys"
          since="in the last minute or two"
          keys={report.mostRefused}
          allowed="Allowed since"
          empty="No request was rejected in this time."
          open={open}
        />
        <PoliciesPanel policies={report.policies} select={select} />
        <TryPanel {...props} policies={report.policies} open={setOpened} />
      </div>
      {opened === undefined ? null : <KeyDialog {...props} opened={opened} close={() => setOpened(undefined)} />}
    </>
  )
}
