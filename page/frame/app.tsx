import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { LiveView } from '../live/live-view.tsx'
import { PlaygroundView } from '../playground/playground-view.tsx'
import { type Route, routeTo } from './route.ts'
import { ThemeSwitch } from './theme-switch.tsx'
import { useRoute } from './use-route.tsx'
import { Shade, useTheme } from './use-theme.tsx'
import { useToken } from './use-token.tsx'

const TITLES: Readonly<Record<Route['view'], string>> = { live: 'Live', playground: 'Playground' }

/** The whole page: its frame, and one of the two views. */
export function App(): JSX.Element {
  const { view, query, token: given } = useRoute()
  const [token, keepToken] = useToken(given)
  const { theme, shade, choose } = useTheme()
  useEffect(() => {
    document.title = `${TITLES[view]} · Sluice`
  }, [view])
  return (
    <Shade.Provider value={shade}>
      {/* No link: the fragment belongs to the views. */}
      <button type="button" class="quiet skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to the content
      </button>
      <header class="frame">
        <span class="brand">
          <img src="icon.svg" alt="" width="24" height="24" /> Sluice
        </span>
        <nav aria-label="Views">
          {(['live', 'playground'] as const).map((name) => (
            <a key={name} href={routeTo(name)} aria-current={name === view ? 'page' : undefined}>
              {TITLES[name]}
            </a>
          ))}
        </nav>
        <ThemeSwitch theme={theme} choose={choose} />
      </header>
      <main id="main" tabIndex={-1}>
        {view === 'live' ? <LiveView token={token} keepToken={keepToken} /> : <PlaygroundView query={query} />}
      </main>
    </Shade.Provider>
  )
}
