import type { Result } from '../../src/simulate/simulation.ts'
import type { FirstRefusal } from './first-refusals.ts'

/** What a rule made of the traffic. */
export interface PlayedLane {
  readonly result: Result
  readonly refusals: readonly FirstRefusal[]
  readonly decisionNs: number | undefined
  readonly fromMs: number
  readonly untilMs: number
}
