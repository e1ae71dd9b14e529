import type { JSX } from 'preact'
import { useContext, useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { Shade } from '../frame/use-theme.tsx'
import { type ChartSettings, composeChartOptions, type Shown } from './chart-options.tsx'
import type { Columns } from './stacked.ts'

/** Something that moves over the charts, and says when it does. */
export interface Head {
  readonly atS: number
  subscribe(moved: () => void): () => void
}

/** A chart over time. Its words are its accessible name: the canvas says nothing, and a table beside it says the rest. */
export function TimeChart(props: {
  words: string
  columns: Columns
  settings: ChartSettings
  shown: Shown
  pointed?: (index: number | undefined) => void
  head?: Head
}): JSX.Element {
  const { words, columns, settings, shown, pointed, head } = props
  const shade = useContext(Shade)
  const place = useRef<HTMLDivElement>(null)
  const chart = useRef<uPlot>()
  // What the options ask for when a chart is drawn, long after they were made.
  const latest = useRef({ columns, shown, pointed })
  latest.current = { columns, shown, pointed }

  useEffect(() => {
    const element = place.current as HTMLDivElement
    const steps = (uPlot.paths.stepped as (how: { align: 1 }) => uPlot.Series.PathBuilder)({ align: 1 })
    const options = composeChartOptions(
      element,
      settings,
      () => latest.current.shown,
      (index) => latest.current.pointed?.(index),
      steps,
    )
    const made = new uPlot(options, latest.current.columns as unknown as uPlot.AlignedData, element)
    chart.current = made
    const resized = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: settings.heightPx }))
    resized.observe(element)
    return () => {
      resized.disconnect()
      made.destroy()
    }
  }, [settings, shade])

  useEffect(() => {
    chart.current?.setData(columns as unknown as uPlot.AlignedData)
  }, [columns, shown.from, shown.to, shown.marked])

  useEffect(() => (head === undefined ? undefined : followHead(chart.current as uPlot, head)), [head, settings, shade])

  return <div class="chart" role="img" aria-label={words} ref={place} />
}

/** Draws the head as a line over the chart. It moves alone: the chart below is not drawn again. */
function followHead(chart: uPlot, head: Head): () => void {
  const line = document.createElement('div')
  line.className = 'head-line'
  chart.over.append(line)
  const move = (): void => {
    line.style.transform = `translateX(${chart.valToPos(head.atS, 'x')}px)`
  }
  const resized = new ResizeObserver(move)
  resized.observe(chart.over)
  const stop = head.subscribe(move)
  move()
  return () => {
    stop()
    resized.disconnect()
    line.remove()
  }
}
