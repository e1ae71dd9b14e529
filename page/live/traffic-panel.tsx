import type { JSX } from 'preact'
import { useId, useMemo, useState } from 'preact/hooks'
import type { LiveReport } from '../../src/observe/live-report.ts'
import type { ChartSettings } from '../charts/chart-options.tsx'
import { Legend, type LegendEntry } from '../charts/legend.tsx'
import { stacked } from '../charts/stacked.ts'
import { TimeChart } from '../charts/time-chart.tsx'
import { ColumnHeads } from '../frame/column-heads.tsx'
import { Panel } from '../frame/panel.tsx'
import { latency, timeOfDay } from '../words/lengths.ts'
import { count, rate, short } from '../words/numbers.ts'
import { minutes, recent } from './recent.ts'
import { chosen, type Selection, selectionChoices } from './selection.ts'
import { outageStretches, shownStretch, timeLines } from './time-lines.ts'

const SETTINGS: ChartSettings = {
  series: [
    { label: 'Refused', colour: 'refused', look: 'hatched', isStepped: true },
    { label: 'Allowed', colour: 'allowed', look: 'area', isStepped: true },
  ],
  heightPx: 220,
  isTimeOfDay: true,
  yWords: short,
  leastTop: 5,
}

/** Allowed and refused per second, of everything or of what is selected. */
export function TrafficPanel(props: {
  report: LiveReport
  selected: string
  select: (value: string) => void
}): JSX.Element {
  const { report, select } = props
  const choices = selectionChoices(report.policies)
  const { selection, value, label } = chosen(choices, props.selected)
  const [pointed, setPointed] = useState<number | undefined>()
  const lines = timeLines(report.seconds, selection)
  const columns = useMemo(() => stacked(lines.timesS, lines.allowed, lines.refused), [report, value])
  const { fromS, toS } = shownStretch(report)
  const marked = outageStretches(report)
  const at = pointed ?? lines.timesS.length - 1
  const lately = recent(report.seconds, report.seconds.length, selection)
  const words = `Requests per second over the last ten minutes, ${label}: ${rate(lately.allowedPerSecond)} allowed and ${rate(lately.refusedPerSecond)} refused on average.`
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

function legend(lines: ReturnType<typeof timeLines>, at: number, hasOutage: boolean): LegendEntry[] {
  const told = (values: readonly number[]): string => count(values[at] ?? 0)
  return [
    { swatch: 'allowed', label: 'Allowed', value: told(lines.allowed) },
    { swatch: 'refused', label: 'Refused', value: told(lines.refused) },
    ...(hasOutage ? [{ swatch: 'degraded', label: 'Store degraded' } as const] : []),
  ]
}

function Menu(props: {
  choices: ReturnType<typeof selectionChoices>
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
      <summary>The same by the minute, as a table</summary>
      <div class="scroll">
        <table>
          <ColumnHeads of="From" numbers={['Allowed', 'Refused', 'Worst p99']} />
          <tbody>
            {minutes(report.seconds, selection).map((minute) => (
              <tr key={minute.fromMs}>
                <th scope="row">{timeOfDay(minute.fromMs)}</th>
                <td class="number">{count(minute.allowed)}</td>
                <td class="number">{count(minute.refused)}</td>
                <td class="number">{latency(minute.worstP99Ms)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  )
}
