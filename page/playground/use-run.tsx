import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Rule } from '../../src/core/rule.ts'
import type { Contestant, Trace } from '../../src/simulate/simulation.ts'
import { decisionTimeNs } from './decision-time.ts'
import { playInSlices } from './play-in-slices.ts'
import { type Made, makeRule, nameLanes, type RuleChoice } from './rule-choice.ts'
import { type RunOutcome, startRun } from './run.ts'
import type { Settings } from './settings.ts'
import { makeTrace } from './traffic-choice.ts'

/** How the playground stands: the last outcome stays until the next one is there. */
export interface Playing {
  readonly made: readonly Made[]
  /** The first rule that can be made, and the traffic, to compare every rule by. */
  readonly compared: { readonly rule: Rule; readonly trace: Trace } | undefined
  readonly trafficProblem: string | undefined
  readonly isBusy: boolean
  readonly progress: number
  readonly outcome: PlayedOutcome | undefined
}

/** An outcome, and the choices it belongs to: its lists are in their order. */
export interface PlayedOutcome extends RunOutcome {
  readonly choices: readonly RuleChoice[]
  /** What a decision takes by each rule in this browser. Measured last, so it comes a little later. */
  readonly decisionNs: readonly (number | undefined)[]
}

/** Plays the settings anew whenever they change. Slider moves are waited for; the work is done in slices of a frame. */
export function useRun(settings: Settings): Playing {
  const made = useMemo(() => settings.rules.map(makeRule), [settings.rules])
  const first = made.find((one) => 'rule' in one)
  const traffic = useMemo(() => makeTrace(settings.traffic, first?.rule), [settings.traffic, first])
  const [state, setState] = useState<Pick<Playing, 'isBusy' | 'progress' | 'outcome'>>(IDLE)

  useEffect(() => {
    if ('problem' in traffic) return
    const names = nameLanes(settings.rules)
    const choices = settings.rules.filter((_choice, index) => 'rule' in (made[index] as Made))
    const contestants = made.flatMap((one, index): Contestant[] =>
      'rule' in one ? [{ name: names[index] as string, rule: one.rule }] : [],
    )
    if (contestants.length === 0) return
    const run = startRun(contestants, traffic.trace)
    const measure = (decisionNs: readonly (number | undefined)[]): void => {
      const contestant = contestants[decisionNs.length]
      if (contestant === undefined) {
        setState((before) => ({ ...before, outcome: before.outcome && { ...before.outcome, decisionNs } }))
        return
      }
      const takenNs = decisionTimeNs(contestant.rule, traffic.trace, () => performance.now() * 1e6)
      timeout = setTimeout(measure, 0, [...decisionNs, takenNs])
    }
    let timeout: ReturnType<typeof setTimeout> | undefined
    const stop = playInSlices(run, SETTLED_MS, (isDone) => {
      if (!isDone) return setState(({ outcome }) => ({ isBusy: true, progress: run.progress, outcome }))
      setState({ isBusy: false, progress: 1, outcome: { ...run.outcome(), choices, decisionNs: [] } })
      timeout = setTimeout(measure, RESTED_MS, [])
    })
    setState((before) => ({ ...before, isBusy: true, progress: 0 }))
    return () => {
      stop()
      clearTimeout(timeout)
    }
  }, [made, traffic])

  const compared = first !== undefined && 'trace' in traffic ? { rule: first.rule, trace: traffic.trace } : undefined
  return { made, compared, trafficProblem: 'problem' in traffic ? traffic.problem : undefined, ...state }
}

const IDLE = { isBusy: true, progress: 0, outcome: undefined } as const
const SETTLED_MS = 60
/** Long enough that the reader has the results before, and that it does not run while a slider moves. */
const RESTED_MS = 300
