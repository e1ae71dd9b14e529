import type { JSX } from 'preact'

/** What a swatch stands for. */
export interface LegendEntry {
  readonly swatch: 'allowed' | 'refused' | 'level' | 'degraded' | 'p50' | 'p99'
  readonly label: string
  readonly value?: string
}

/** Says what the colours of a chart mean, with the values under the pointer or the latest. */
export function Legend({ entries }: { entries: readonly LegendEntry[] }): JSX.Element {
  return (
    <ul class="legend">
      {entries.map(({ swatch, label, value }) => (
        <li key={label}>
          <span class={`swatch ${swatch}`} aria-hidden="true" />
          {label}
          {value === undefined ? null : <b>{value}</b>}
        </li>
      ))}
    </ul>
  )
}
