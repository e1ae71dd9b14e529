import type { HeaderFormat } from '../../http/header-fields.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import { type Manner, mannerOf } from './manner.ts'
import { demandLimiter } from './options.ts'
import { noteLimiter, type Warn } from './warnings.ts'

/** A limiter, and what a gate knows of it. */
export interface KnownLimiter extends Manner {
  readonly limiter: Limiter<string>
  /** Counts how often it was asked. */
  readonly sighting: { asked: number }
}

/** Gets to know limiters, each once. Throws when it is given something else. */
export function knownLimiters(format: HeaderFormat, warn: Warn): (limiter: Limiter<string>) => KnownLimiter {
  const all = new WeakMap<object, KnownLimiter>()
  return (limiter) => {
    let known = all.get(limiter)
    if (known === undefined) {
      demandLimiter(limiter)
      known = { ...mannerOf(limiter, format), limiter, sighting: noteLimiter(limiter, warn) }
      all.set(limiter, known)
    }
    return known
  }
}
