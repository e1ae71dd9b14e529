/** What the reader chose. `system` follows the system's own setting as it changes. */
export type Theme = 'system' | 'light' | 'dark'

const THEMES: readonly Theme[] = ['system', 'light', 'dark']

/** Where the choice is kept between visits. */
export const THEME_KEY = 'sluice-theme'

/** The kept choice; the system's where there is none or nonsense. */
export function readTheme(kept: string | null): Theme {
  return THEMES.find((theme) => theme === kept) ?? 'system'
}

/** The next choice in turn, for a switch of one button. */
export function nextTheme(theme: Theme): Theme {
  return THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] as Theme
}
