import { axis, draw, frame, INK, WIDTH } from '../../bench/chart.mjs'

const ALLOWED = '#2f81f7'
const REJECTED = '#db6d28'
const LEFT = 44
const GAP = 56
const TOP = 122
const PANEL = 108
const ROOM = 66
const STEP = 50

/**
 * Passed and rejected requests over time as the text of an SVG: a panel for each result, all on one scale.
 *
 * @param columns how many panels stand in a row. With one the picture is narrow enough for a phone.
 */
export function panels({ title, results, minutes, columns = 2 }) {
  const whole = columns === 1 ? WIDTH / 2 + LEFT : WIDTH
  const width = (whole - LEFT - (columns - 1) * GAP - 16) / columns
  const most = Math.max(...results.flatMap(({ slots }) => slots.map(({ admitted, refused }) => admitted + refused)))
  const top = Math.ceil(most / STEP) * STEP
  const places = results.map((_, index) => ({
    left: LEFT + (index % columns) * (width + GAP),
    top: TOP + Math.floor(index / columns) * (PANEL + ROOM),
    width,
    height: PANEL,
  }))
  const rows = Math.ceil(results.length / columns)
  const option = {
    ...frame(title),
    title: [frame(title).title, ...results.map((result, index) => panelTitle(result, places[index]))],
    legend: { top: 42, left: 0, itemGap: 28, textStyle: { color: INK }, data: ['allowed', 'rejected'] },
    color: [ALLOWED, REJECTED],
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
  }
  return draw(TOP + rows * (PANEL + ROOM) - 20, option, whole)
}

function panelTitle({ name, admitted, refused }, { left, top }) {
  return {
    text: name,
    subtext: `${admitted.toLocaleString('en-US')} allowed, ${refused.toLocaleString('en-US')} rejected`,
    left: left - 6,
    top: top - 40,
    itemGap: 3,
    padding: 0,
    textStyle: { color: INK, fontSize: 13, fontWeight: 600 },
    subtextStyle: { color: INK, fontSize: 11 },
  }
}

/** Bars would each need a category: a step under a line is the same, at any time. */
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
    series('allowed', ({ admitted }) => admitted, `panel ${index}`),
    series('rejected', ({ refused }) => refused, `panel ${index}`),
  ]
}
