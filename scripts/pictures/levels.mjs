import { axis, draw, frame, INK } from '../../bench/chart.mjs'

const LINES = ['#2f81f7', '#d29922', '#3fb950', '#db61a2', '#a371f7', '#39c5cf']

/** What remained for one key over time, a line for each result, as the text of an SVG. */
export function levels({ title, results, seconds }) {
  return draw(412, {
    ...frame(title),
    color: LINES,
    legend: { top: 42, left: 0, itemGap: 22, textStyle: { color: INK } },
    grid: { left: 48, right: 40, top: 104, bottom: 48 },
    xAxis: {
      type: 'value',
      min: 0,
      max: seconds,
      interval: 20,
      name: 'seconds',
      nameLocation: 'middle',
      nameGap: 28,
      ...axis(),
    },
    yAxis: { type: 'value', name: 'remaining', ...axis() },
    series: results.map(({ name, slots }) => ({
      type: 'line',
      name,
      symbol: 'none',
      lineStyle: { width: 2.5 },
      data: slots.map(({ fromMs, remaining }, index) => [(slots[index + 1]?.fromMs ?? fromMs) / 1_000, remaining]),
    })),
  })
}
