import { axis, draw, frame, INK, WIDTH } from '../../bench/chart.mjs'

const PASSED = '#2f81f7'
const REFUSED = '#db6d28'
const LEFT = 44
const GAP = 56
const TOP = 122
const PANEL = 108
const ROOM = 66
const STEP = 50

/** What passed and what was refused over time, a panel for each result and all on one scale, two in a row, as the text of an SVG. */
export function panels({ title, results, minutes }) {
  const width = (WIDTH - LEFT - GAP - 16) / 2
  const most = Math.max(...results.flatMap(({ slots }) => slots.map(({ admitted, refused }) => admitted + refused)))
  const top = Math.ceil(most / STEP) * STEP
  const places = results.map((_, index) => ({
    left: LEFT + (index % 2) * (width + GAP),
    top: TOP + Math.floor(index / 2) * (PANEL + ROOM),
    width,
    height: PANEL,
  }))
  const rows = Math.ceil(results.length / 2)
  return draw(TOP + rows * (PANEL + ROOM) - 20, {
    ...frame(title),
    title: [frame(title).title, ...results.map((result, index) => panelTitle(result, places[index]))],
    legend: { top: 42, left: 0, itemGap: 28, textStyle: { color: INK }, data: ['passed', 'refused'] },
    color: [PASSED, REFUSED],
    grid: places,
    xAxis: results.map((_, gridIndex) => ({
      type: 'value',
      min: 0,
      max: minutes,
      gridIndex,
      ...axis(),
      splitLine: { show: false },
      axisLabel: { color: INK, formatter: '{value} min' },
      minInterval: 1,
    })),
    yAxis: results.map((_, gridIndex) => ({
      type: 'value',
      max: top,
      interval: STEP,
      gridIndex,
      ...axis(),
    })),
    series: results.flatMap((result, index) => areas(result, index)),
  })
}

function panelTitle({ name, admitted, refused }, { left, top }) {
  return {
    text: name,
    subtext: `${admitted.toLocaleString('en-US')} passed, ${refused.toLocaleString('en-US')} refused`,
    left: left - 6,
    top: top - 40,
    itemGap: 3,
    padding: 0,
    textStyle: { color: INK, fontSize: 13, fontWeight: 600 },
    subtextStyle: { color: INK, fontSize: 11 },
  }
}

/** Bars by themselves would each need a category: a step under a line is the same, at any time. */
function areas({ slots }, index) {
  const series = (name, heightOf, stack) => ({
    type: 'line',
    name,
    step: 'end',
    xAxisIndex: index,
    yAxisIndex: index,
    stack,
    symbol: 'none',
    lineStyle: { width: 0 },
    areaStyle: { opacity: 1 },
    data: slots.map((slot) => [slot.fromMs / 60_000, heightOf(slot)]),
  })
  return [
    series('passed', ({ admitted }) => admitted, `panel ${index}`),
    series('refused', ({ refused }) => refused, `panel ${index}`),
  ]
}
