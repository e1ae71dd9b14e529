import type { Result, Slot } from '../../simulate/simulation.ts'
import { chooseColors } from '../terminal/colors.ts'
import { printable } from '../terminal/printable.ts'
import { truncate } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { formatNumber, formatShare } from './column-table.ts'
import { writeSpan } from './duration-text.ts'

const HEIGHT = 6
const EIGHTHS = ['', '▁', '▂', '▃', '▄', '▅', '▆', '▇']
// In a line with a scale before it and a little room after it.
const BESIDE = 12
const LEAST = 20
const MOST = 160

/** How many slots a chart on this terminal has room for. */
export function countChartSlots({ columns }: Terminal): number {
  return Math.min(MOST, Math.max(LEAST, columns - BESIDE))
}

/** The most requests of any slot: the top of the scale that all rules share. */
export function findTallest(results: readonly Result[]): number {
  return Math.max(1, ...results.flatMap(({ slots }) => slots.map(({ admitted, refused }) => admitted + refused)))
}

/** What passed and what was refused over time, one picture a rule, all on one scale. */
export function drawChart(results: readonly Result[], terminal: Terminal): string {
  const most = findTallest(results)
  return results.map((result) => drawResult(result, most, terminal)).join('\n')
}

function drawResult({ name, admitted, refused, slots }: Result, most: number, terminal: Terminal): string {
  const colors = chooseColors(terminal)
  const counts = `${colors.green('█')} ${formatNumber(admitted)} passed  ${colors.red('░')} ${formatNumber(refused)} refused (${formatShare(refused, admitted + refused)})`
  const scale = formatNumber(most)
  const rows = Array.from({ length: HEIGHT }, (_, index) => {
    const row = HEIGHT - 1 - index
    const label = row === HEIGHT - 1 ? scale : row === 0 ? '0' : ''
    const cells = slots.map((slot) => drawCell(slot, row, most))
    return `${label.padStart(scale.length)} │${colorRow(cells, colors)}`
  })
  const title = `${colors.bold(truncate(printable(name), terminal.columns - 1))}\n${' '.repeat(scale.length + 2)}${counts}`
  return `${[title, ...rows, drawAxis(slots, scale.length)].join('\n')}\n`
}

interface Cell {
  readonly text: string
  readonly kind: 'admitted' | 'refused' | 'none'
}

/** One row of one column: full of what passed, its top, or what was refused above it. */
function drawCell({ admitted, refused }: Slot, row: number, most: number): Cell {
  const passed = (HEIGHT * admitted) / most
  const all = (HEIGHT * (admitted + refused)) / most
  const part = Math.floor(8 * (passed - row))
  if (part >= 8) return { text: '█', kind: 'admitted' }
  // Something always shows, be it ever so little.
  if (part >= 1 || (row === 0 && admitted > 0)) return { text: EIGHTHS[Math.max(1, part)] as string, kind: 'admitted' }
  return all > row && refused > 0 ? { text: '░', kind: 'refused' } : { text: ' ', kind: 'none' }
}

/** Neighbours of one colour in one stroke. */
function colorRow(cells: readonly Cell[], colors: ReturnType<typeof chooseColors>): string {
  let row = ''
  for (let from = 0, to = 0; from < cells.length; from = to) {
    const { kind } = cells[from] as Cell
    while (cells[to]?.kind === kind) to++
    const text = cells.slice(from, to).reduce((all, cell) => all + cell.text, '')
    row += kind === 'admitted' ? colors.green(text) : kind === 'refused' ? colors.red(text) : text
  }
  return row.trimEnd()
}

function drawAxis(slots: readonly Slot[], indent: number): string {
  const end = writeSpan(slots)
  const gap = Math.max(1, slots.length - 1 - end.length)
  return `${' '.repeat(indent)} └${'─'.repeat(slots.length)}\n${' '.repeat(indent + 2)}0${' '.repeat(gap)}${end}`
}
