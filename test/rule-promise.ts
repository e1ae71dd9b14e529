import type fc from 'fast-check'
import type { Rule } from '../src/core/rule.ts'
import type { Fairness } from './even-traffic.ts'

/** What a rule promises: the properties and the comparison with Redis read it. One of these is in `<rule>.promises.ts`. */
export interface RulePromise extends Fairness {
  /** The function that makes the rule, and which of its options are meant. */
  readonly name: string
  /** Random configurations of the rule. */
  readonly rules: fc.Arbitrary<Rule>
  /** Configurations at the edge of what the factory takes: ten years, and products just below 2^53. */
  readonly extremes: fc.Arbitrary<Rule>
  /** The most that may be admitted between two requests with `apartMs` between them, both included. */
  most(parameters: Parameters, apartMs: number): number
  /**
   * Whether the rule counts in windows of the clock: when the clock is set back for good, such a rule goes on in the window of the
   * new time, wherever that ends. All others keep their bound in the time that has passed, whatever the clock says.
   */
  readonly alignedToClock: boolean
  /** The rule's own period: waits around it find the mistakes. */
  periodMs(parameters: Parameters): number
}

/** A rule's parameters, all of which are numbers where these tests look. */
export type Parameters = Readonly<Record<string, number>>
