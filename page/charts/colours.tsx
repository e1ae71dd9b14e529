/** The colours of the style sheet that charts draw with. */
export type ColourName =
  | 'ink'
  | 'muted'
  | 'line'
  | 'surface'
  | 'allowed'
  | 'allowed-fill'
  | 'refused'
  | 'level'
  | 'level-fill'
  | 'degraded'

/** A colour of the style sheet as a canvas takes it. A canvas knows no variables, so an element is asked. */
export function readColour(element: HTMLElement, name: ColourName): string {
  const probe = document.createElement('i')
  probe.style.color = `var(--${name})`
  element.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

/** A surface of slanted lines: told from a plain one without any colour. */
export function createHatching(
  context: CanvasRenderingContext2D,
  line: string,
  ground: string,
): CanvasPattern | string {
  const tile = document.createElement('canvas')
  const size = Math.round(6 * devicePixelRatio)
  tile.width = size
  tile.height = size
  const draw = tile.getContext('2d')
  if (draw === null) return line
  draw.fillStyle = ground
  draw.fillRect(0, 0, size, size)
  draw.strokeStyle = line
  draw.lineWidth = 2.2 * devicePixelRatio
  for (const shift of [-size, 0, size]) {
    draw.moveTo(shift, size)
    draw.lineTo(shift + size, 0)
  }
  draw.stroke()
  return context.createPattern(tile, 'repeat') ?? line
}
