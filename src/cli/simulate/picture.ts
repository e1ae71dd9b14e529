import type { Result, Slot } from '../../simulate/simulation.ts'
import { printable } from '../terminal/printable.ts'
import { findTallest } from './chart.ts'
import { formatNumber } from './column-table.ts'
import { writeSpan } from './duration-text.ts'

// Grey letters and no background: to be read on white and on black.
const INK = '#7d8590'
const PASSED = '#2f81f7'
const REFUSED = '#db6d28'
const WIDTH = 960
const LEFT = 60
const HEIGHT = 110
const ROOM = 44

/** What passed and what was refused over time, one picture a rule and all on one scale, as the text of an SVG. */
export function drawPicture(results: readonly Result[], about: string): string {
  const most = findTallest(results)
  const height = ROOM + results.length * (HEIGHT + ROOM)
  const pictures = results.map((result, index) => drawPanel(result, most, ROOM + index * (HEIGHT + ROOM)))
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="13" fill="${INK}">
<title>${escapeXml(about)}</title>
<text x="0" y="16">${escapeXml(about)}</text>
<rect x="${WIDTH - 170}" y="6" width="11" height="11" fill="${PASSED}"/><text x="${WIDTH - 154}" y="16">passed</text>
<rect x="${WIDTH - 80}" y="6" width="11" height="11" fill="${REFUSED}"/><text x="${WIDTH - 64}" y="16">refused</text>
${pictures.join('\n')}
</svg>
`
}

function drawPanel({ name, admitted, refused, slots }: Result, most: number, top: number): string {
  const bottom = top + 22 + HEIGHT
  const step = (WIDTH - LEFT) / slots.length
  const bars = slots.map((slot, index) => drawBar(slot, LEFT + index * step, step * 0.9, bottom, HEIGHT / most))
  return `<text x="0" y="${top + 12}" font-weight="600">${escapeXml(name)}<tspan font-weight="400" dx="16">${formatNumber(admitted)} passed, ${formatNumber(refused)} refused</tspan></text>
<text x="${LEFT - 8}" y="${top + 34}" text-anchor="end">${formatNumber(most)}</text>
<text x="${LEFT - 8}" y="${bottom}" text-anchor="end">0</text>
${bars.join('\n')}
<path d="M${LEFT} ${bottom}.5H${WIDTH}" stroke="${INK}"/>
<text x="${WIDTH}" y="${bottom + 14}" text-anchor="end">${writeSpan(slots)}</text>`
}

function drawBar({ admitted, refused }: Slot, x: number, width: number, bottom: number, scale: number): string {
  const piece = (from: number, size: number, colour: string): string =>
    size === 0
      ? ''
      : `<rect x="${x.toFixed(1)}" y="${(bottom - (from + size) * scale).toFixed(1)}" width="${width.toFixed(1)}" height="${(size * scale).toFixed(1)}" fill="${colour}"/>`
  return piece(0, admitted, PASSED) + piece(admitted, refused, REFUSED)
}

function escapeXml(text: string): string {
  return printable(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
