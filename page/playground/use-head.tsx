import { useEffect, useReducer } from 'preact/hooks'
import type { PlayHead } from './play-head.ts'

/** Draws the component anew whenever the head moves. */
export function useHead(head: PlayHead): void {
  const [, redraw] = useReducer((count: number) => count + 1, 0)
  useEffect(() => head.subscribe(() => redraw(undefined as never)), [head])
}

/** Moves the head while it plays: with every frame, or four times a second where the system asks for reduced motion. */
export function useMotion(head: PlayHead): void {
  useEffect(() => {
    const isCalm = matchMedia('(prefers-reduced-motion: reduce)').matches
    let frame = 0
    let lastMs = 0
    const turn = (nowMs: number): void => {
      if (nowMs - lastMs >= (isCalm ? CALM_MS : 0)) {
        head.pass(nowMs - lastMs)
        lastMs = nowMs
      }
      frame = head.isPlaying ? requestAnimationFrame(turn) : 0
    }
    const stop = head.subscribe(() => {
      if (!head.isPlaying || frame !== 0) return
      lastMs = performance.now()
      frame = requestAnimationFrame(turn)
    })
    return () => {
      stop()
      cancelAnimationFrame(frame)
    }
  }, [head])
}

const CALM_MS = 250
