import { init } from 'echarts'
import { number } from './report.mjs'

// Grey letters and no background: to be read on white and on black.
export const INK = '#7d8590'
const GRID = '#7d859040'
const OURS = '#2f81f7'
const OTHERS = '#8b949e'
const LINES = ['#2f81f7', '#d29922', '#3fb950', '#db61a2', '#a371f7']
export const WIDTH = 960
// What a letter takes at most on average. Without a browser nobody can measure it.
const LETTER = 7.2

/** Bars from the longest to the shortest, each `{ name, value, label, isOurs }`, as the text of an SVG. */
export function barChart({ title, unit, bars }) {
  const sorted = [...bars].sort((one, other) => one.value - other.value)
  return draw(90 + 26 * bars.length, {
    ...frame(title),
    grid: { left: LETTER * Math.max(...bars.map(({ name }) => name.length)), right: 190, top: 44, bottom: 48 },
    xAxis: { type: 'value', name: unit, nameLocation: 'middle', nameGap: 26, ...axis() },
    yAxis: { type: 'category', data: sorted.map(({ name }) => name), ...axis(), axisTick: { show: false } },
    series: [
      {
        type: 'bar',
        data: sorted.map(({ value, isOurs }) => ({ value, itemStyle: { color: isOurs ? OURS : OTHERS } })),
        label: { show: true, position: 'right', color: INK, formatter: ({ dataIndex }) => sorted[dataIndex].label },
      },
    ],
  })
}

/** Lines over the same steps, each `{ name, points: [[x, y], …] }`, as the text of an SVG. */
export function lineChart({ title, xName, yName, lines }) {
  const steps = lines[0].points.map(([x]) => number(x))
  return draw(360, {
    ...frame(title),
    color: LINES,
    legend: { top: 34, left: 0, itemGap: 28, textStyle: { color: INK } },
    grid: { left: 70, right: 40, top: 92, bottom: 48 },
    xAxis: { type: 'category', data: steps, name: xName, nameLocation: 'middle', nameGap: 28, ...axis() },
    yAxis: { type: 'value', name: yName, ...axis() },
    series: lines.map(({ name, points }) => ({
      type: 'line',
      name,
      data: points.map(([, y]) => y),
      symbol: 'circle',
      symbolSize: 7,
    })),
  })
}

/** The text of an SVG of that height. */
export function draw(height, option, width = WIDTH) {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width, height })
  chart.setOption(option)
  const svg = chart.renderToSVGString()
  chart.dispose()
  const [{ text }] = [option.title].flat()
  // A picture has a title for those who cannot see it, and nothing that happens under a mouse.
  return svg
    .replace(/>/, `>\n<title>${text}</title>`)
    .replace(/<style[\s\S]*?<\/style>\n/, '')
    .replaceAll(/ class="zr[^"]*"/g, '')
}

/** Letters and title as in every picture. */
export function frame(title) {
  return {
    animation: false,
    textStyle: { fontFamily: 'system-ui, sans-serif', color: INK },
    title: { text: title, left: 0, textStyle: { color: INK, fontSize: 15, fontWeight: 600 } },
  }
}

/** The colours of an axis. */
export function axis() {
  return {
    nameTextStyle: { color: INK },
    axisLabel: { color: INK },
    axisLine: { lineStyle: { color: INK } },
    splitLine: { lineStyle: { color: GRID } },
  }
}
