import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { LiveReport } from '../../src/observe/live-report.ts'
import type { ChartSettings } from '../charts/chart-options.tsx'
import { Legend } from '../charts/legend.tsx'
import type { Columns } from '../charts/stacked.ts'
import { TimeChart } from '../charts/time-chart.tsx'
import { Panel } from '../frame/panel.tsx'
import { formatLatency } from '../words/lengths.ts'
import { sumRecent } from './recent.ts'
import { composeTimeLines, describeShownTime, listOutageStretches, resolveShownStretch } from './time-lines.ts'

const SETTINGS: ChartSettings = {
  series: [
    { label: 'p99', colour: 'muted', look: 'thin', isStepped: false },
    { label: 'p50', colour: 'ink', look: 'line', isStepped: false },
  ],
  heightPx: 150,
  isTimeOfDay: true,
  yWords: formatLatency,
  // The slowest are a hundred times slower than most, and both are worth seeing.
  isLogarithmic: true,
  leastTop: 1,
}

/** How long decisions took. With a store of its own process that is next to nothing; with Redis it is mostly the way there. */
export function LatencyPanel({ report }: { report: LiveReport }): JSX.Element {
  const [pointed, setPointed] = useState<number | undefined>()
  const lines = composeTimeLines(report.seconds, {})
  const columns = useMemo((): Columns => [lines.timesS, lines.p99Ms, lines.p50Ms], [report])
  const { fromS, toS } = resolveShownStretch(report)
  const at = pointed ?? lines.timesS.length - 1
  const { p50Ms, p99Ms } = sumRecent(report.seconds, report.seconds.length)
  return (
    <Panel title="Latency of decisions">
      <Legend
        entries={[
          { swatch: 'p50', label: 'p50', value: formatLatency(lines.p50Ms[at] ?? null) },
          { swatch: 'p99', label: 'p99', value: formatLatency(lines.p99Ms[at] ?? null) },
        ]}
      />
      <TimeChart
        words={`Latency of decisions over the last ${describeShownTime(report)}: p50 ${formatLatency(p50Ms)}, worst p99 ${formatLatency(p99Ms)}.`}
        columns={columns}
        settings={SETTINGS}
        shown={{ from: fromS, to: toS, marked: listOutageStretches(report) }}
        pointed={setPointed}
      />
    </Panel>
  )
}
