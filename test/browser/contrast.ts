import type { Page } from 'playwright-core'

/** A text that is hard to read: what it says, its contrast, and the least it should have. */
export interface HardToRead {
  readonly text: string
  readonly contrast: number
  readonly least: number
}

/** All visible text whose contrast is below what WCAG asks for at level AA: 4.5, and 3 for large text. */
export function hardToRead(page: Page): Promise<HardToRead[]> {
  return page.evaluate(() => {
    type Colour = [red: number, green: number, blue: number, alpha: number]
    const readColour = (text: string): Colour => {
      const [red = 0, green = 0, blue = 0, alpha = 1] = (text.match(/[\d.]+/g) ?? []).map(Number)
      return [red, green, blue, alpha]
    }
    const over = (front: Colour, back: Colour): Colour => {
      const mix = (index: 0 | 1 | 2): number => front[index] * front[3] + back[index] * (1 - front[3])
      return [mix(0), mix(1), mix(2), 1]
    }
    const findBackground = (element: Element): Colour => {
      const own = readColour(getComputedStyle(element).backgroundColor)
      if (own[3] === 1) return own
      return over(own, element.parentElement === null ? [255, 255, 255, 1] : findBackground(element.parentElement))
    }
    const luminance = (colour: Colour): number => {
      const [red, green, blue] = colour.map((part) => {
        const share = part / 255
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
      }) as Colour
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue
    }
    const contrast = (one: Colour, other: Colour): number => {
      const [dark, bright] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number]
      return (bright + 0.05) / (dark + 0.05)
    }

    const found: HardToRead[] = []
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
      const element = node.parentElement as Element
      const text = (node.textContent ?? '').trim()
      if (text === '' || !element.checkVisibility() || element.closest('.visually-hidden, .skip') !== null) continue
      const style = getComputedStyle(element)
      const background = findBackground(element)
      const size = Number.parseFloat(style.fontSize)
      const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700)
      const least = isLarge ? 3 : 4.5
      const value = contrast(over(readColour(style.color), background), background)
      if (value < least) found.push({ text, contrast: Math.round(value * 100) / 100, least })
    }
    return found
  })
}
