import type uPlot from 'uplot'
import { type ColourName, createHatching, readColour } from './colours.tsx'

/** One line or area of a chart. */
interface Drawn {
  readonly label: string
  readonly colour: ColourName
  readonly look: 'area' | 'edged' | 'hatched' | 'line' | 'thin'
  /** Whether a value holds until the next one. */
  readonly isStepped: boolean
}

/** What a chart shows besides its columns. */
export interface ChartSettings {
  readonly series: readonly Drawn[]
  readonly heightPx: number
  /** Time on the axis below: seconds since 1970, or seconds from the start. */
  readonly isTimeOfDay: boolean
  xWords?(value: number): string
  yWords(value: number): string
  /** The value that always fits. */
  readonly leastTop: number
  /** Whether each step up is ten times the one before. @default false */
  readonly isLogarithmic?: boolean
}

/** What may change with every drawing. */
export interface Shown {
  readonly from: number
  readonly to: number
  readonly marked: readonly { readonly fromS: number; readonly toS: number }[]
}

/** The options of uPlot for a chart in `element`. `shown` is asked anew at every drawing. */
export function composeChartOptions(
  element: HTMLElement,
  settings: ChartSettings,
  shown: () => Shown,
  pointed: (index: number | undefined) => void,
  steps: uPlot.Series.PathBuilder,
): uPlot.Options {
  const axis = composeAxis(element)
  return {
    width: element.clientWidth,
    height: settings.heightPx,
    padding: [8, null, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false, setScale: false }, points: { size: 7 } },
    scales: {
      x: { time: settings.isTimeOfDay, range: () => [shown().from, shown().to] },
      y: composeYScale(settings),
    },
    axes: [
      { ...axis, size: 26, space: 70, ...composeXValues(settings) },
      {
        ...axis,
        ...powersOnly(axis, settings),
        size: 50,
        space: 28,
        values: (_chart, splits) => splits.map((value) => (value === null ? '' : settings.yWords(value))),
      },
    ],
    series: [{}, ...settings.series.map((drawn) => composeSeries(element, drawn, steps))],
    hooks: {
      drawClear: [(chart) => markStretches(chart, shown().marked, readColour(element, 'degraded'))],
      setCursor: [(chart) => pointed(chart.cursor.idx ?? undefined)],
    },
  }
}

function composeYScale({ leastTop, isLogarithmic = false }: ChartSettings): uPlot.Scale {
  if (!isLogarithmic) return { range: (_chart, _least, most) => [0, Math.max(leastTop, (most ?? 0) * 1.08)] }
  const power = (value: number, round: (exponent: number) => number): number => 10 ** round(Math.log10(value))
  return {
    distr: 3,
    range: (_chart, least, most) => [
      power(Math.min(least || leastTop / 100, leastTop / 100), Math.floor),
      power(Math.max(most ?? 0, leastTop), Math.ceil),
    ],
  }
}

/** Of a scale in which each step is ten times the one before, the whole steps: lines in between say little and hide much. */
function powersOnly(axis: uPlot.Axis, { isLogarithmic = false }: ChartSettings): Partial<uPlot.Axis> {
  if (!isLogarithmic) return {}
  const filter = (_chart: uPlot, splits: readonly number[]): (number | null)[] =>
    splits.map((value) => (Math.abs(Math.log10(value) % 1) < 1e-9 ? value : null))
  return { filter, grid: { ...axis.grid, filter } } as Partial<uPlot.Axis>
}

function composeAxis(element: HTMLElement): uPlot.Axis {
  const line = readColour(element, 'line')
  return {
    stroke: readColour(element, 'muted'),
    font: '11px system-ui, sans-serif',
    grid: { stroke: line, width: 1 },
    ticks: { show: false },
    border: { show: false },
  }
}

function composeXValues({ isTimeOfDay, xWords }: ChartSettings): Partial<uPlot.Axis> {
  if (xWords !== undefined) return { incrs: STEPS_S, values: (_chart, splits) => splits.map(xWords) }
  // Hours and minutes by the reader's clock, without a date.
  return isTimeOfDay ? { values: (_chart, splits) => splits.map(hoursAndMinutes) } : {}
}

// Steps that are round in minutes, hours and days: every 10 min, and not every 8 min 20 s.
const STEPS_S = [
  ...[0.001, 0.01, 0.1].flatMap((unit) => [unit, 2 * unit, 5 * unit]),
  ...[1, 2, 5, 10, 20, 30],
  ...[1, 2, 5, 10, 20, 30].map((minutes) => minutes * 60),
  ...[1, 2, 4, 6, 12].map((hours) => hours * 3_600),
  ...[1, 2, 5, 10, 30, 100, 300, 1_000].map((days) => days * 86_400),
]

function hoursAndMinutes(atS: number): string {
  const at = new Date(atS * 1_000)
  const seconds = at.getSeconds() === 0 ? '' : `:${`${at.getSeconds()}`.padStart(2, '0')}`
  return `${`${at.getHours()}`.padStart(2, '0')}:${`${at.getMinutes()}`.padStart(2, '0')}${seconds}`
}

function composeSeries(element: HTMLElement, drawn: Drawn, steps: uPlot.Series.PathBuilder): uPlot.Series {
  const stroke = readColour(element, drawn.colour)
  const surface = readColour(element, 'surface')
  return {
    label: drawn.label,
    stroke,
    width: WIDTHS[drawn.look],
    points: drawn.isStepped ? { show: false } : { size: 5, fill: stroke, filter: listLoneValues },
    ...(drawn.isStepped ? { paths: steps } : {}),
    ...(drawn.look === 'area' || drawn.look === 'edged'
      ? { fill: readColour(element, SOFT[drawn.colour] ?? drawn.colour) }
      : {}),
    ...(drawn.look === 'hatched' ? { fill: (chart) => createHatching(chart.ctx, stroke, surface) } : {}),
  }
}

/** The values that no line shows, because there is none beside them. */
function listLoneValues(chart: uPlot, series: number): number[] {
  const values = chart.data[series] ?? []
  const isThere = (index: number): boolean => (values[index] ?? null) !== null
  return [...values.keys()].filter((index) => isThere(index) && !isThere(index - 1) && !isThere(index + 1))
}

// A line around an area would be all there is to see of a narrow one.
const WIDTHS: Readonly<Record<Drawn['look'], number>> = { area: 0, edged: 1.5, hatched: 0, line: 1.75, thin: 1 }

const SOFT: Partial<Record<ColourName, ColourName>> = { allowed: 'allowed-fill', level: 'level-fill' }

function markStretches(chart: uPlot, marked: Shown['marked'], colour: string): void {
  const { ctx, bbox } = chart
  ctx.save()
  ctx.fillStyle = colour
  for (const { fromS, toS } of marked) {
    const left = chart.valToPos(fromS, 'x', true)
    ctx.fillRect(left, bbox.top, Math.max(2, chart.valToPos(toS, 'x', true) - left), bbox.height)
  }
  ctx.restore()
}
