import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import type { Rule } from '../../src/core/rule.ts'
import type { ChartSettings } from '../charts/chart-options.tsx'
import { Legend } from '../charts/legend.tsx'
import { stackColumns } from '../charts/stacked.ts'
import { TimeChart } from '../charts/time-chart.tsx'
import { ColumnHeads } from '../frame/column-heads.tsx'
import { formatDuration } from '../words/lengths.ts'
import { formatCount, formatShort } from '../words/numbers.ts'
import type { PlayHead } from './play-head.ts'
import type { PlayedLane } from './run.ts'
import { composeLevelLine, composeSlotLines, sumUp } from './slot-lines.ts'
import { Tank } from './tank.tsx'

const FLOW: ChartSettings = {
  series: [
    { label: 'Rejected', colour: 'refused', look: 'hatched', isStepped: true },
    { label: 'Admitted', colour: 'allowed', look: 'area', isStepped: true },
  ],
  heightPx: 128,
  isTimeOfDay: false,
  xWords: (atS) => (atS === 0 ? '0' : formatDuration(atS * 1_000)),
  yWords: formatShort,
  leastTop: 1,
}

/** Admitted and refused over time, and below it how full the bucket is, with the play head across both. */
export function LaneCharts(props: { name: string; rule: Rule; played: PlayedLane; head: PlayHead }): JSX.Element {
  const { name, rule, played, head } = props
  const { result, fromMs, untilMs } = played
  const lines = useMemo(() => composeSlotLines(result.slots, fromMs, untilMs), [result])
  const flow = useMemo(() => stackColumns(lines.timesS, lines.admitted, lines.refused), [lines])
  const level = useMemo(() => composeLevelLine(result.slots, fromMs, untilMs, result.limit), [result])
  const levelSettings = useMemo(() => composeLevel(rule.limit), [rule.limit])
  const shown = useMemo(() => ({ from: 0, to: (untilMs - fromMs) / 1_000, marked: [] }), [fromMs, untilMs])
  const words = `${name}: ${formatCount(result.admitted)} admitted and ${formatCount(result.refused)} rejected over ${formatDuration(untilMs - fromMs)}.`
  return (
    <div class="lane-charts">
      <Legend
        entries={[
          { swatch: 'allowed', label: 'Admitted' },
          { swatch: 'refused', label: 'Rejected' },
          { swatch: 'level', label: 'Remaining' },
        ]}
      />
      <TimeChart words={words} columns={flow} settings={FLOW} shown={shown} head={head} />
      <TimeChart
        words={`${name}: what remains of ${formatCount(rule.limit)} for the busiest key, from full to empty.`}
        columns={level}
        settings={levelSettings}
        shown={shown}
        head={head}
      />
      <Tank result={result} fromMs={fromMs} head={head} />
      <details>
        <summary>Show as a table</summary>
        <SlotTable played={played} />
      </details>
    </div>
  )
}

function composeLevel(limit: number): ChartSettings {
  return {
    ...FLOW,
    series: [{ label: 'Remaining', colour: 'level', look: 'edged', isStepped: false }],
    heightPx: 96,
    leastTop: limit,
  }
}

function SlotTable({ played: { result, fromMs } }: { played: PlayedLane }): JSX.Element {
  return (
    <table>
      <ColumnHeads of="From" numbers={['Admitted', 'Rejected', 'Left']} />
      <tbody>
        {sumUp(result.slots, 12).map((slot) => (
          <tr key={slot.fromMs}>
            <th scope="row">{formatDuration(slot.fromMs - fromMs)}</th>
            <td class="number">{formatCount(slot.admitted)}</td>
            <td class="number">{formatCount(slot.refused)}</td>
            <td class="number">{formatCount(slot.remaining)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
