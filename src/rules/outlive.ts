import type { AdjustResult, Rule, RuleState, StepResult } from '../core/rule.ts'

/** A step of a rule, on a state that these parameters have counted. */
export type CountedStep<P, S extends RuleState> = (
  parameters: P,
  ...given: Parameters<Rule<S>['step']>
) => StepResult<S>

/** An adjustment of a rule, on a state that these parameters have counted. */
export type CountedAdjust<P, S extends RuleState> = (
  parameters: P,
  ...given: Parameters<Rule<S>['adjust']>
) => AdjustResult<S>

/** What a rule does. */
export type RuleFunctions<S extends RuleState> = Pick<Rule<S>, 'step' | 'adjust' | 'adopt' | 'bulk'>

/** What a rule of windows knows. */
export type WindowParameters = Readonly<Record<'limit' | 'windowMs' | 'maxDebt', number>>

/** A rule whose states say which parameters have counted them. */
export interface Outliving<P, S extends RuleState> {
  readonly step: CountedStep<P, S>
  readonly adjust: CountedAdjust<P, S>
  readonly parameters: P
  /** The parameters that counted a state, with the rule's own limit. `parameters` itself when it did. */
  readCounting(state: S): P
  /** What is used of a state as if it was used now, by `parameters`. */
  recount(counting: P, state: S, nowMs: number): S | undefined
}

/**
 * The functions of a rule whose states outlive a change of its parameters. Time goes by those that counted a state until something is
 * counted, so a refusal need not write. Then what is used counts as used now, by the rule's own parameters.
 */
export function outlive<P, S extends RuleState>({
  step,
  adjust,
  parameters,
  readCounting,
  recount,
}: Outliving<P, S>): RuleFunctions<S> {
  return {
    step(state, nowMs, cost) {
      const counting = state === undefined ? parameters : readCounting(state)
      if (state === undefined || counting === parameters) return step(parameters, state, nowMs, cost)
      if (step(counting, state, nowMs, 0).resetAfterMs === 0) return step(parameters, undefined, nowMs, cost)
      const result = step(counting, state, nowMs, cost)
      if (cost === 0 || result.retryAfterMs > 0) return result
      const own = recount(counting, state, nowMs)
      const taken = adjust(parameters, own, nowMs, cost).state
      // What passes by the parameters that counted the state passes, also where the rule's own would make it wait.
      const { delayMs } = step(parameters, own, nowMs, 0)
      return { ...step(parameters, taken, nowMs, 0), retryAfterMs: 0, delayMs }
    },
    adjust(state, nowMs, amount, takenMs) {
      const counting = state === undefined ? parameters : readCounting(state)
      if (state === undefined || counting === parameters) return adjust(parameters, state, nowMs, amount, takenMs)
      if (amount <= 0) return adjust(counting, state, nowMs, amount, takenMs)
      return adjust(parameters, recount(counting, state, nowMs), nowMs, amount)
    },
    adopt(state, nowMs) {
      const counting = readCounting(state)
      if (counting === parameters) return undefined
      const own = recount(counting, state, nowMs)
      // What is fresh by its own time already, or sooner by it, stays as it is.
      const freshMs = step(parameters, own, nowMs, 0).resetAfterMs
      const isSooner = freshMs < step(counting, state, nowMs, 0).resetAfterMs
      return isSooner ? own : undefined
    },
  }
}

/** The same for a rule that counts whole requests. */
export function outliveRequests<P extends WindowParameters, S extends RuleState>(
  rule: Omit<Outliving<P, S>, 'recount'>,
): RuleFunctions<S> {
  const { step, adjust, parameters } = rule
  return outlive({
    ...rule,
    recount(counting, state, nowMs) {
      // Where nearly everything fits, what does not remain is used, debt included.
      const roomy = { ...counting, limit: Number.MAX_SAFE_INTEGER }
      const used = roomy.limit - step(roomy, state, nowMs, 0).remaining
      return adjust(parameters, undefined, nowMs, used).state
    },
  })
}

/** The same for a rule that counts them in windows, of which each state says the length. */
export function outliveWindow<P extends WindowParameters, S extends RuleState & { readonly windowMs: number }>(
  step: CountedStep<P, S>,
  adjust: CountedAdjust<P, S>,
  parameters: P,
): RuleFunctions<S> {
  const readCounting = ({ windowMs }: S): P =>
    windowMs === parameters.windowMs ? parameters : { ...parameters, windowMs }
  return outliveRequests({ step, adjust, parameters, readCounting })
}
