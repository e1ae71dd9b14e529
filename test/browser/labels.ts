import type { Page } from 'playwright-core'

/** What a user who does not see the page would stumble over, each in a few words. */
export function missingLabels(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const found: string[] = []
    const shown = (element: Element): string => element.outerHTML.slice(0, 120)
    const words = (id: string): string =>
      id
        .split(' ')
        .map((one) => document.getElementById(one)?.textContent ?? '')
        .join(' ')
    const readName = (element: Element): string => {
      const labels = (element as HTMLInputElement).labels
      return [
        element.getAttribute('aria-label') ?? '',
        words(element.getAttribute('aria-labelledby') ?? ''),
        ...[...(labels ?? [])].map(({ textContent }) => textContent ?? ''),
        element.matches('input, select, section') ? '' : (element.textContent ?? ''),
      ]
        .join('')
        .trim()
    }
    for (const element of document.querySelectorAll('input, select, button, a, section, [role=img], [role=tablist]')) {
      if (readName(element) === '') found.push(`has no name: ${shown(element)}`)
    }
    for (const image of document.querySelectorAll('img:not([alt])')) found.push(`has no alt: ${shown(image)}`)
    for (const header of document.querySelectorAll('th:not([scope])')) found.push(`has no scope: ${shown(header)}`)
    const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id)
    for (const id of new Set(ids.filter((one, index) => ids.indexOf(one) !== index))) found.push(`id twice: ${id}`)
    for (const element of document.querySelectorAll('[aria-labelledby], [aria-controls]')) {
      for (const id of [element.getAttribute('aria-labelledby'), element.getAttribute('aria-controls')]) {
        if (id !== null && document.getElementById(id) === null) found.push(`points at nothing: ${shown(element)}`)
      }
    }
    if (document.documentElement.lang === '') found.push('the page has no language')
    if (document.querySelectorAll('h1').length !== 1) found.push('there is not exactly one h1')
    if (document.querySelectorAll('main').length !== 1) found.push('there is not exactly one main')
    return found
  })
}
