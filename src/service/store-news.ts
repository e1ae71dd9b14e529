import type { Limiter } from '../limiter/limiter.ts'

/** What has become of the store. */
export type StoreChange =
  | { readonly state: 'degraded'; readonly error: unknown }
  | { readonly state: 'healthy'; readonly afterMs: number }

/** Makes what watches limiters of one store until the function that it returns is called: `tell` gets once what each of them tells. */
export function createStoreWatch(
  tell: (change: StoreChange) => void,
): (limiter: Pick<Limiter<string>, 'on'>) => () => void {
  let last: StoreChange['state'] = 'healthy'
  const note = (change: StoreChange): void => {
    if (change.state === last) return
    last = change.state
    tell(change)
  }
  return (limiter) => {
    const stops = [
      limiter.on('degraded', ({ error }) => note({ state: 'degraded', error })),
      limiter.on('recovered', ({ afterMs }) => note({ state: 'healthy', afterMs })),
    ]
    return () => {
      for (const stop of stops) stop()
    }
  }
}
