import type { PlaygroundRun } from './run.ts'

/** Half a frame: the other half is the browser's. */
const SLICE_MS = 8

/** Plays a run in slices after a pause, and tells after each slice whether it is done. Returns the function that ends it. */
export function playInSlices(
  run: Pick<PlaygroundRun, 'playOn'>,
  pauseMs: number,
  tell: (isDone: boolean) => void,
): () => void {
  const slice = (): void => {
    const endMs = performance.now() + SLICE_MS
    const isDone = run.playOn(() => performance.now() >= endMs)
    if (!isDone) timeout = setTimeout(slice)
    tell(isDone)
  }
  let timeout = setTimeout(slice, pauseMs)
  return () => clearTimeout(timeout)
}
