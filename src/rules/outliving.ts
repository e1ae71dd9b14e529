import type { Outcome, Rule, RuleState } from '../core/rule.ts'

/** A step of a rule, on a state that these parameters have counted. */
export type CountedStep<P, S extends RuleState> = (
  parameters: P,
  state: S | undefined,
  nowMs: number,
  cost: number,
  force: boolean,
  takenMs?: number,
) => Outcome<S>

/**
 * The step of a rule whose states outlive a change of its parameters, because each says which ones counted it. Time goes by those
 * until something is counted, so a refusal need not write. Then what is used counts as used now, by the rule's own parameters.
 *
 * @param step the step on a state that its parameters have counted.
 * @param makerOf the parameters that counted a state, with the rule's own limit. `parameters` itself when it did.
 * @param recount what is used of a state as if it was used now, by `parameters`.
 */
export function outliving<P, S extends RuleState>(
  step: CountedStep<P, S>,
  parameters: P,
  makerOf: (state: S) => P,
  recount: (maker: P, state: S, nowMs: number) => Outcome<S>,
): Pick<Rule<S>, 'step' | 'adopt'> {
  return {
    step(state, nowMs, cost, force, takenMs) {
      const maker = state === undefined ? parameters : makerOf(state)
      if (state === undefined || maker === parameters) return step(parameters, state, nowMs, cost, force, takenMs)
      if (step(maker, state, nowMs, 0, true).resetAfterMs === 0) return step(parameters, undefined, nowMs, cost, force)
      const outcome = step(maker, state, nowMs, cost, force, takenMs)
      if (cost <= 0 || outcome.retryAfterMs > 0) return outcome
      return step(parameters, recount(maker, state, nowMs).state, nowMs, cost, true)
    },
    adopt(state, nowMs) {
      const maker = makerOf(state)
      if (maker === parameters) return undefined
      const own = recount(maker, state, nowMs)
      // What is fresh by its own time already, or sooner by it, stays as it is.
      const isSooner = own.resetAfterMs > 0 && own.resetAfterMs < step(maker, state, nowMs, 0, true).resetAfterMs
      return isSooner ? own.state : undefined
    },
  }
}

/** The same for a rule that counts whole requests in windows. */
export function outlivingWindow<P extends { readonly limit: number }, S extends RuleState>(
  step: CountedStep<P, S>,
  parameters: P,
  makerOf: (state: S) => P,
): Pick<Rule<S>, 'step' | 'adopt'> {
  return outliving(step, parameters, makerOf, (maker, state, nowMs) => {
    // Where nearly everything fits, what does not remain is used, debt included.
    const roomy = { ...maker, limit: Number.MAX_SAFE_INTEGER }
    const used = roomy.limit - step(roomy, state, nowMs, 0, true).remaining
    return step(parameters, undefined, nowMs, used, true)
  })
}
