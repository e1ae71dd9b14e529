import { useEffect, useState } from 'preact/hooks'
import { type Route, readRoute } from './route.ts'

/** The route of the address, as it changes. */
export function useRoute(): Route {
  const [fragment, setFragment] = useState(location.hash)
  useEffect(() => {
    const changed = (): void => setFragment(location.hash)
    addEventListener('hashchange', changed)
    return () => removeEventListener('hashchange', changed)
  }, [])
  return readRoute(fragment)
}
