import type { JSX } from 'preact'
import { useId } from 'preact/hooks'
import { formatDuration, writeDuration } from '../words/lengths.ts'
import { formatCount } from '../words/numbers.ts'
import { COUNTS, DURATIONS, nearestStep } from './ladder.ts'
import { parseNumber } from './rule-choice.ts'

/** A number or a length of time: a slider for the usual values, and an input that takes any. */
export function LadderField(props: {
  label: string
  about: string
  kind: 'count' | 'duration'
  value: string
  change: (text: string) => void
}): JSX.Element {
  const { label, about, kind, value, change } = props
  const id = useId()
  const ladder = kind === 'duration' ? DURATIONS : COUNTS
  const number = parseNumber(kind, value)
  const step = nearestStep(ladder, number ?? 1)
  const slid = (event: JSX.TargetedEvent<HTMLInputElement>): void => {
    const next = ladder[Number(event.currentTarget.value)] as number
    change(kind === 'duration' ? writeDuration(next) : `${next}`)
  }
  return (
    <div class="ladder" title={about}>
      <label for={id}>{label}</label>
      <input
        id={id}
        class="typed"
        inputMode={kind === 'count' ? 'numeric' : 'text'}
        autocomplete="off"
        spellcheck={false}
        value={value}
        aria-invalid={number === undefined}
        onInput={(event) => change(event.currentTarget.value)}
      />
      <input
        type="range"
        aria-label={`${label}, ${about}`}
        min="0"
        max={ladder.length - 1}
        value={step}
        aria-valuetext={
          number === undefined ? value : kind === 'duration' ? formatDuration(number) : formatCount(number)
        }
        onInput={slid}
      />
    </div>
  )
}
