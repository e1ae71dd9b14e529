import type { JSX } from 'preact'
import { useId, useMemo, useState } from 'preact/hooks'
import type { LiveReport } from '../../src/observe/live-report.ts'
import type { ChartSettings } from '../charts/chart-options.tsx'
import { Legend, type LegendEntry } from '../charts/legend.tsx'
import { stackColumns } from '../charts/stacked.ts'
import { TimeChart } from '../charts/time-chart.tsx'
import { ColumnHeads } from '../frame/column-heads.tsx'
import { Panel } from '../frame/panel.tsx'
import { formatLatency, formatTimeOfDay } from '../words/lengths.ts'
import { formatCount, formatRate, formatShort } from '../words/numbers.ts'
import { listMinutes, sumRecent } from './recent.ts'
import { listChoices, resolveChoice, type Selection } from './selection.ts'
import { composeTimeLines, describeShownTime, listOutageStretches, resolveShownStretch } from './time-lines.ts'

const SETTINGS: ChartSettings = {
  series: [
    { label: 'Rejected', colour: 'refused', look: 'hatched', isStepped: true },
    { label: 'Allowed', colour: 'allowed', look: 'area', isStepped: true },
  ],
  heightPx: 220,
  isTimeOfDay: true,
  yWords: formatShort,
  leastTop: 5,
}

/** Allowed and refused per second, of everything or of what is selected. */
export function TrafficPanel(props: {
  report: LiveReport
  selected: string
  select: (value: string) => void
}): JSX.Element {
  const { report, select } = props
  const choices = listChoices(report.policies)
  const { selection, value, label } = resolveChoice(choices, props.selected)
  const [pointed, setPointed] = useState<number | undefined>()
  const lines = composeTimeLines(report.seconds, selection)
  const columns = useMemo(() => stackColumns(lines.timesS, lines.allowed, lines.refused), [report, value])
  const { fromS, toS } = resolveShownStretch(report)
  const marked = listOutageStretches(report)
  const at = pointed ?? lines.timesS.length - 1
  const lately = sumRecent(report.seconds, report.seconds.length, selection)
  const words = `Requests per second over the last ${describeShownTime(report)}, ${label}: ${formatRate(lately.allowedPerSecond)} allowed and ${formatRate(lately.refusedPerSecond)} rejected on average.`
  return (
    <Panel title="Requests per second" class="wide" aside={<Menu {...{ choices, value, select }} />}>
      <Legend entries={legend(lines, at, marked.length > 0)} />
      <TimeChart
        words={words}
        columns={columns}
        settings={SETTINGS}
        shown={{ from: fromS, to: toS, marked }}
        pointed={setPointed}
      />
      <MinutesTable report={report} selection={selection} />
    </Panel>
  )
}

function legend(lines: ReturnType<typeof composeTimeLines>, at: number, hasOutage: boolean): LegendEntry[] {
  const told = (values: readonly number[]): string => formatCount(values[at] ?? 0)
  return [
    { swatch: 'allowed', label: 'Allowed', value: told(lines.allowed) },
    { swatch: 'refused', label: 'Rejected', value: told(lines.refused) },
    ...(hasOutage ? [{ swatch: 'degraded', label: 'Store degraded' } as const] : []),
  ]
}

function Menu(props: {
  choices: ReturnType<typeof listChoices>
  value: string
  select: (value: string) => void
}): JSX.Element {
  const id = useId()
  return (
    <span class="row">
      <label for={id}>Show</label>
      <select id={id} value={props.value} onChange={(event) => props.select(event.currentTarget.value)}>
        {props.choices.map(({ value, label }) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    </span>
  )
}

function MinutesTable({ report, selection }: { report: LiveReport; selection: Selection }): JSX.Element {
  return (
    <details>
      <summary>Show as a table, by minute</summary>
      <div class="scroll">
        <table>
          <ColumnHeads of="From" numbers={['Allowed', 'Rejected', 'Worst p99']} />
          <tbody>
            {listMinutes(report.seconds, selection).map((minute) => (
              <tr key={minute.fromMs}>
                <th scope="row">{formatTimeOfDay(minute.fromMs)}</th>
                <td class="number">{formatCount(minute.allowed)}</td>
                <td class="number">{formatCount(minute.refused)}</td>
                <td class="number">{formatLatency(minute.worstP99Ms)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  )
}
