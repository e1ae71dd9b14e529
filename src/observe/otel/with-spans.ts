/** A call that makes a span: what it is made with, and what its answer is made into. */
export interface SpannedCall {
  /** How much the call is about; absent: it is about no amount. */
  readonly amount?: (args: readonly unknown[]) => unknown
  /** What to give the caller instead of the answer. */
  readonly answer?: (answer: object, args: readonly unknown[]) => unknown
}

/** Runs a call inside a span. */
export type InSpan = (name: string, call: SpannedCall, args: readonly unknown[], run: () => unknown) => Promise<unknown>

/**
 * The same object, with spans around some of its calls and other functions instead of some. Everything else is its own, also what it
 * will have one day.
 */
export function withSpans<Target extends object>(
  target: Target,
  calls: Readonly<Record<string, SpannedCall>>,
  inSpan: InSpan,
  instead: Readonly<Record<PropertyKey, unknown>> = {},
): Target {
  const made = new Map<PropertyKey, unknown>(Reflect.ownKeys(instead).map((name) => [name, instead[name]]))
  const wrapMethod = (name: PropertyKey, method: (...args: unknown[]) => unknown): unknown => {
    const call = Object.hasOwn(calls, name) ? calls[name as string] : undefined
    if (call === undefined) return method.bind(target)
    return (...args: unknown[]) => inSpan(String(name), call, args, () => method.apply(target, args))
  }
  return new Proxy(target, {
    get(_, name) {
      if (made.has(name)) return made.get(name)
      // Of the object itself, and not of this one: it keeps its secrets from others.
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      made.set(name, wrapMethod(name, value as (...args: unknown[]) => unknown))
      return made.get(name)
    },
  })
}
