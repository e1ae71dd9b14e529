import type { JSX } from 'preact'
import { PRESETS } from './presets.ts'
import type { Settings } from './settings.ts'
import { writeSettings } from './share.ts'

/** Offers the presets, and says what the chosen one is for. */
export function PresetBar({
  settings,
  change,
}: {
  settings: Settings
  change: (settings: Settings) => void
}): JSX.Element {
  const written = writeSettings(settings)
  const chosen = PRESETS.find((preset) => writeSettings(preset) === written)
  return (
    <fieldset class="presets row">
      <legend class="visually-hidden">Presets</legend>
      {PRESETS.map((preset) => (
        <button
          key={preset.name}
          type="button"
          class="quiet"
          title={preset.about}
          aria-pressed={preset === chosen}
          onClick={() => change({ rules: preset.rules, traffic: preset.traffic })}
        >
          {preset.name}
        </button>
      ))}
      <span class="note">{chosen?.about ?? 'Choose a use to start from, or set everything yourself.'}</span>
    </fieldset>
  )
}
