import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { formatDuration } from '../words/lengths.ts'
import { formatCount } from '../words/numbers.ts'
import { CodePanel } from './code-panel.tsx'
import { CopyButton } from './copy-button.tsx'
import { Lane } from './lane.tsx'
import { PlayBar } from './play-bar.tsx'
import { PlayHead, startSpeed } from './play-head.ts'
import { PrefetchPanel } from './prefetch-panel.tsx'
import { PresetBar } from './preset-bar.tsx'
import { type Made, nameLanes, RULE_FORMS, type RuleChoice, suggestChoice } from './rule-choice.ts'
import { MOST_ARRIVALS, type PlayedLane } from './run.ts'
import { MOST_RULES } from './settings.ts'
import { SummaryPanel } from './summary-panel.tsx'
import { readProcesses } from './traffic-choice.ts'
import { TrafficForm } from './traffic-form.tsx'
import { type PlayedOutcome, type Playing, useRun } from './use-run.tsx'
import { useSettings } from './use-settings.tsx'

/** Rules side by side on the same traffic, decided by the rules' own code in this browser. */
export function PlaygroundView({ query }: { query: string }): JSX.Element {
  const { settings, problems, change } = useSettings(query)
  const playing = useRun(settings)
  const { outcome } = playing
  const lengthMs = outcome === undefined ? 0 : outcome.untilMs - outcome.fromMs
  const head = useMemo(() => new PlayHead(lengthMs, { speed: startSpeed(lengthMs) }), [lengthMs])
  const { rules } = settings
  const names = nameLanes(rules)
  const setRule = (index: number, choice: RuleChoice): void => change({ ...settings, rules: rules.with(index, choice) })
  return (
    <div class="playground">
      <div class="view-head">
        <h1>Playground</h1>
        <RunNote playing={playing} />
        <CopyButton words="Copy link" text={() => location.href} />
      </div>
      {problems.length === 0 ? null : (
        <p class="alert" role="alert">
          <b>Not all of this link could be read:</b> {problems.join('; ')}. What is missing is as at the start.
        </p>
      )}
      <PresetBar settings={settings} change={change} />
      <TrafficForm
        traffic={settings.traffic}
        asksWork={playing.made.some((made) => 'rule' in made && made.rule.replenishes === 'on-release')}
        problem={playing.trafficProblem}
        change={(traffic) => change({ ...settings, traffic })}
      />
      <PlayBar head={head} />
      <div class={`lanes lanes-${rules.length}`}>
        {rules.map((choice, index) => (
          <Lane
            key={index}
            name={names[index] as string}
            choice={choice}
            made={playing.made[index] as Made}
            played={findPlayed(outcome, choice, index, rules.length)}
            isBusy={playing.isBusy}
            head={head}
            change={(next) => setRule(index, next)}
            remove={rules.length === 1 ? undefined : () => change({ ...settings, rules: rules.toSpliced(index, 1) })}
          />
        ))}
      </div>
      {rules.length === MOST_RULES ? null : (
        <button
          type="button"
          class="quiet add"
          onClick={() => change({ ...settings, rules: [...rules, suggestNext(rules)] })}
        >
          Add a rule
        </button>
      )}
      {playing.compared === undefined ? null : (
        <>
          <PrefetchPanel
            choices={rules}
            made={playing.made}
            trace={playing.compared.trace}
            processes={readProcesses(settings.traffic)}
          />
          <SummaryPanel {...playing.compared} />
        </>
      )}
      <CodePanel choices={rules.filter((_choice, index) => 'rule' in (playing.made[index] as Made))} />
    </div>
  )
}

function RunNote({ playing: { isBusy, progress, outcome } }: { playing: Playing }): JSX.Element {
  const requests = outcome?.results[0]?.requests ?? 0
  const cut =
    outcome?.cutAtMs === undefined
      ? ''
      : ` It stopped at ${formatDuration(outcome.cutAtMs - outcome.fromMs)}: more than ${formatCount(MOST_ARRIVALS)} are not played.`
  return (
    <p class="run-note note" role="status">
      {isBusy ? `Playing… ${Math.round(progress * 100)} %` : `${formatCount(requests)} requests for each rule.${cut}`}
    </p>
  )
}

/** What is known of a lane: of its own settings, or until then of what stood in its place. */
function findPlayed(
  outcome: PlayedOutcome | undefined,
  choice: RuleChoice,
  index: number,
  lanes: number,
): PlayedLane | undefined {
  if (outcome === undefined) return undefined
  const own = outcome.choices.indexOf(choice)
  const at = own < 0 && outcome.choices.length === lanes ? index : own
  const result = outcome.results[at]
  const refusals = outcome.refusals[at]
  if (result === undefined || refusals === undefined) return undefined
  return { ...outcome, result, refusals, decisionNs: outcome.decisionNs[at] }
}

/** The first rule that is not there yet. */
function suggestNext(rules: readonly RuleChoice[]): RuleChoice {
  const form = RULE_FORMS.find(({ name }) => rules.every(({ rule }) => rule !== name)) ?? RULE_FORMS[0]
  return suggestChoice(form as (typeof RULE_FORMS)[number])
}
