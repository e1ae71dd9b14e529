import type { Rule } from '../../src/core/rule.ts'
import { measureLifeMs } from '../../src/stores/prefetch/grant-life.ts'
import { HeldGrant } from '../../src/stores/prefetch/held-grant.ts'
import { KeyRecord } from '../../src/stores/prefetch/key-record.ts'
import { playLateWindow } from './late-window.ts'
import type { Mistakes, Surroundings } from './play.ts'

/** A design with one idea left out. A simulation in which that makes no difference proves nothing. */
export interface Mutant {
  readonly mistakes?: Mistakes
  /** Leaves something out of the code itself, and returns what puts it back. */
  patch?(): () => void
  readonly surroundings?: Surroundings
  /** The schedule that shows it. Says how much more passes than the rule admits. Absent: any may. */
  schedule?(rule: Rule): number
  /** The rule that cannot do without the idea; absent: every rule is played. */
  readonly rule?: string
}

/** The life of a grant as `measureLifeMs` would have to be told it, so that it comes to this. */
const untaught = (lifeMs: number): number => (lifeMs - measureLifeMs(0)) / (measureLifeMs(1) - measureLifeMs(0))

const fromReply = (lastsMs: number, tookMs: number): number => untaught(measureLifeMs(lastsMs) + tookMs)

/** All mutants, by what they leave out. */
export const mutants: Readonly<Record<string, Mutant>> = {
  'charges a grant when it is given, life from the reply': { mistakes: { charges: true, misread: fromReply } },
  'charges a grant when it is given': { mistakes: { charges: true } },
  'counts the life of a grant from the reply': { mistakes: { misread: fromReply } },
  'has ids that collide': { mistakes: { collides: true } },
  'has no guard for rounding and drift': { mistakes: { misread: untaught } },
  'does not clip a grant to its window': {
    mistakes: { spoil: withoutSlots },
    schedule: playLateWindow,
    rule: 'fixedWindow, first-hit',
  },
  'forgets live grants at a reset': { mistakes: { forgets: true }, surroundings: { mix: { resets: 0.5 } } },
  'spends a grant that is over': {
    patch: () => replace(HeldGrant.prototype, 'isLive', () => () => true),
  },
  'spends a grant after it was given back': {
    patch: () =>
      replace(
        KeyRecord.prototype,
        'endGrant',
        (endGrant) =>
          function (this: KeyRecord, now) {
            const { grant } = this
            const ended = endGrant.call(this, now)
            this.grant = grant
            return ended
          },
      ),
  },
  'gives back twice what another limit has refused': {
    surroundings: { tiers: true },
    patch: () =>
      replace(
        HeldGrant.prototype,
        'giveBack',
        (giveBack) =>
          function (this: HeldGrant, amount) {
            giveBack.call(this, amount)
            return giveBack.call(this, amount)
          },
      ),
  },
}

function withoutSlots(rule: Rule): Rule {
  const { slots: _, ...rest } = rule
  return rest
}

/** Replaces a method, and returns what puts it back. */
function replace<Target extends object, Name extends keyof Target>(
  target: Target,
  name: Name,
  make: (original: Target[Name]) => Target[Name],
): () => void {
  const original = target[name]
  target[name] = make(original)
  return () => {
    target[name] = original
  }
}
