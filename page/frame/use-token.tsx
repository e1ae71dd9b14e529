import { useEffect, useState } from 'preact/hooks'
import { routeTo } from './route.ts'

const TOKEN_KEY = 'sluice-token'

/** The token for the service: kept for this tab only, and taken out of the address so that a copied link does not share it. */
export function useToken(given: string | undefined): readonly [string | undefined, (token: string) => void] {
  const [token, setToken] = useState(given ?? sessionStorage.getItem(TOKEN_KEY) ?? undefined)
  const keep = (next: string): void => {
    sessionStorage.setItem(TOKEN_KEY, next)
    setToken(next)
  }
  useEffect(() => {
    if (given === undefined) return
    keep(given)
    location.replace(routeTo('live'))
  }, [given])
  return [token, keep]
}
