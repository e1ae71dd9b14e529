import { createContext } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { readTheme, THEME_KEY, type Theme } from './theme.ts'

/** What is on the screen now. Charts are drawn anew when it changes: a canvas does not follow a style sheet. */
export const Shade: preact.Context<'light' | 'dark'> = createContext<'light' | 'dark'>('light')

/** The choice, what it comes to, and the way to choose. Kept between visits. */
export function useTheme(): { theme: Theme; shade: 'light' | 'dark'; choose: (theme: Theme) => void } {
  const [theme, setTheme] = useState(() => readTheme(localStorage.getItem(THEME_KEY)))
  const [systemIsDark, setSystemIsDark] = useState(() => matchMedia(DARK).matches)
  useEffect(() => {
    const system = matchMedia(DARK)
    const changed = (): void => setSystemIsDark(system.matches)
    system.addEventListener('change', changed)
    return () => system.removeEventListener('change', changed)
  }, [])
  const shade = theme === 'system' ? (systemIsDark ? 'dark' : 'light') : theme
  // Before anything is drawn: charts read their colours from it.
  document.documentElement.dataset.theme = shade
  const choose = (next: Theme): void => {
    localStorage.setItem(THEME_KEY, next)
    setTheme(next)
  }
  return { theme, shade, choose }
}

const DARK = '(prefers-color-scheme: dark)'
