import type { JSX } from 'preact'
import { nextTheme, type Theme } from './theme.ts'

const WORDS: Readonly<Record<Theme, string>> = { system: 'Auto', light: 'Light', dark: 'Dark' }

/** One button that goes through the themes and says which one is on. */
export function ThemeSwitch({ theme, choose }: { theme: Theme; choose: (theme: Theme) => void }): JSX.Element {
  const next = nextTheme(theme)
  return (
    <button
      type="button"
      class="quiet theme-switch"
      aria-label={`Theme: ${WORDS[theme]}. Switch to ${WORDS[next]}`}
      onClick={() => choose(next)}
    >
      <span class={`theme-mark ${theme}`} aria-hidden="true" />
      {WORDS[theme]}
    </button>
  )
}
