/** What an `AbortSignal` has, for projects that have no types of it. */
interface SignalLike {
  readonly aborted: boolean
  readonly reason: unknown
  throwIfAborted(): void
  addEventListener(name: 'abort', listener: () => void): void
  removeEventListener(name: 'abort', listener: () => void): void
}

/** An `AbortSignal`, by the types of Node or of the browser where a project has them. */
export type Signal = typeof globalThis extends { AbortSignal: { prototype: infer Global } } ? Global : SignalLike
