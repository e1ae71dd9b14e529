import type { Rule } from '../../core/rule.ts'
import type { HeaderFormat } from '../../http/header-fields.ts'
import { createLimitWriter, type LimitWriter } from '../../http/header-fields.ts'
import type { Limiter } from '../../limiter/limiter.ts'

/** How a limiter is asked and told about, found out once. */
export interface Manner {
  /** The rules that clients are told of: not those in the shadow. */
  readonly told: Readonly<Record<string, Rule>>
  /** Tells of the only rule, where there is no other and it is told as `'draft-11'`. */
  readonly single: LimitWriter | undefined
  /** Whether a place is taken that has to be released. */
  readonly isLeased: boolean
  /** Whether the headers need to know when the next unit frees. */
  readonly ahead: boolean
}

/** How to ask and tell about a limiter. */
export function mannerOf(limiter: Limiter<string>, format: HeaderFormat): Manner {
  const all = Object.entries(limiter.rules)
  const told = all.filter(([name]) => !limiter.shadows.includes(name))
  const [only] = told
  const isSingle = only !== undefined && all.length === 1 && format === 'draft-11'
  return {
    single: isSingle ? createLimitWriter(...only) : undefined,
    told: Object.fromEntries(told),
    isLeased: all.some(([, rule]) => rule.holds === 'leased'),
    ahead: format !== false && told.some(([, rule]) => rule.comesBack === 'in-parts'),
  }
}
