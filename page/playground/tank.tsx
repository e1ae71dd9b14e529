import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import type { Result } from '../../src/simulate/simulation.ts'
import { formatCount } from '../words/numbers.ts'
import type { PlayHead } from './play-head.ts'
import { findSlot, listMoments } from './slot-lines.ts'
import { useHead } from './use-head.tsx'

/** How full the bucket is at the play head, and what has passed until then. */
export function Tank(props: { result: Result; fromMs: number; head: PlayHead }): JSX.Element | null {
  const { result, fromMs, head } = props
  useHead(head)
  const moments = useMemo(() => listMoments(result.slots), [result])
  const moment = moments[findSlot(result.slots, fromMs + head.atMs)]
  if (moment === undefined) return null
  const { admitted, refused, remaining } = moment
  const filled = Math.min(1, Math.max(0, remaining / result.limit))
  return (
    <div class="tank-row">
      <div class="tank" aria-hidden="true">
        <i class={remaining === 0 ? 'empty-tank' : ''} style={{ transform: `scaleX(${filled})` }} />
      </div>
      <p class="tank-words">
        <b>{formatCount(remaining)}</b> of {formatCount(result.limit)} left · {formatCount(admitted)} admitted,{' '}
        {formatCount(refused)} rejected so far
      </p>
    </div>
  )
}
