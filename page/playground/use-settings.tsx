import { useEffect, useRef, useState } from 'preact/hooks'
import { routeTo } from '../frame/route.ts'
import type { Settings } from './settings.ts'
import { readSettings, writeSettings } from './share.ts'

/** The settings and the address say the same, whichever of them changes. Without a query: as it was left. */
export function useSettings(query: string): {
  settings: Settings
  problems: readonly string[]
  change: (settings: Settings) => void
} {
  const written = useRef(query)
  const [read, setRead] = useState(() => readSettings(query === '' ? leftQuery : query))
  useEffect(() => {
    // The reader followed a link while the page was open.
    if (query !== '' && query !== written.current) setRead(readSettings(query))
  }, [query])
  useEffect(() => {
    const next = writeSettings(read.settings)
    written.current = next
    leftQuery = next
    history.replaceState(null, '', routeTo('playground', next))
  }, [read.settings])
  return { ...read, change: (settings) => setRead({ settings, problems: [] }) }
}

let leftQuery = ''
