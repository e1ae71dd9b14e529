import type { JSX } from 'preact'
import { useId } from 'preact/hooks'
import { formatDuration } from '../words/lengths.ts'
import { type PlayHead, SPEEDS } from './play-head.ts'
import { useHead, useMotion } from './use-head.tsx'

/** Plays, pauses and moves the head over all time lines at once. */
export function PlayBar({ head }: { head: PlayHead }): JSX.Element {
  useHead(head)
  useMotion(head)
  const id = useId()
  const toggle = (): void => (head.isPlaying ? head.pause() : head.play())
  return (
    <fieldset class="play-bar" aria-label="Play head" onKeyDown={(event) => handleKey(event, toggle)}>
      <button type="button" class="play" aria-label={head.isPlaying ? 'Pause' : 'Play'} onClick={toggle}>
        <span class={head.isPlaying ? 'pause-mark' : 'play-mark'} aria-hidden="true" />
        {head.isPlaying ? 'Pause' : 'Play'}
      </button>
      <input
        type="range"
        aria-label="Time"
        min="0"
        max={head.lengthMs}
        step={head.lengthMs / 240}
        value={head.atMs}
        aria-valuetext={`${formatDuration(head.atMs)} of ${formatDuration(head.lengthMs)}`}
        onInput={(event) => head.seek(Number(event.currentTarget.value))}
      />
      <output class="time">
        {formatDuration(head.atMs)} / {formatDuration(head.lengthMs)}
      </output>
      <span class="row">
        <label for={id}>Speed</label>
        <select id={id} value={`${head.speed}`} onChange={(event) => head.setSpeed(Number(event.currentTarget.value))}>
          {SPEEDS.map((speed) => (
            <option key={speed} value={`${speed}`}>
              {speed}×
            </option>
          ))}
        </select>
      </span>
    </fieldset>
  )
}

// On a button and in a menu the space bar has a meaning of its own.
function handleKey(event: JSX.TargetedKeyboardEvent<HTMLElement>, toggle: () => void): void {
  if (event.key !== ' ' || !(event.target instanceof HTMLInputElement)) return
  event.preventDefault()
  toggle()
}
