import type { JSX } from 'preact'
import { useId } from 'preact/hooks'
import type { RuleForm } from '../../src/rules/rule-form.ts'
import { describeRefusal } from './first-refusals.ts'
import { LaneCharts } from './lane-charts.tsx'
import { LaneNumbers } from './lane-numbers.tsx'
import type { PlayHead } from './play-head.ts'
import { changeRule, findForm, type Made, RULE_FORMS, type RuleChoice } from './rule-choice.ts'
import { RuleFields } from './rule-fields.tsx'
import type { PlayedLane } from './run.ts'
import { TierFields } from './tier-fields.tsx'

/** One rule: its fields, and what came of them. */
export function Lane(props: {
  name: string
  choice: RuleChoice
  made: Made
  played: PlayedLane | undefined
  isBusy: boolean
  head: PlayHead
  change: (choice: RuleChoice) => void
  remove: (() => void) | undefined
}): JSX.Element {
  const { name, choice, made, played, change, remove } = props
  const id = useId()
  const form = findForm(choice.rule) as RuleForm
  return (
    <section class={`panel lane ${props.isBusy ? 'busy' : ''}`} aria-label={name}>
      <div class="lane-head">
        <div class="panel-head">
          <label class="visually-hidden" for={id}>
            Rule
          </label>
          <select
            id={id}
            class="rule-name"
            value={choice.rule}
            onChange={(event) => change(changeRule(findForm(event.currentTarget.value) as RuleForm, choice))}
          >
            {RULE_FORMS.map((one) => (
              <option key={one.name}>{one.name}</option>
            ))}
          </select>
          {remove === undefined ? null : (
            <button type="button" class="quiet" aria-label={`Remove ${name}`} onClick={remove}>
              Remove
            </button>
          )}
        </div>
        <p class="note">{form.about}</p>
      </div>
      <div>
        <RuleFields form={form} choice={choice} change={change} />
        <TierFields choice={choice} change={change} />
      </div>
      {'problem' in made ? (
        <p class="alert" role="alert">
          {made.problem}
        </p>
      ) : null}
      {played === undefined || 'problem' in made ? null : (
        <>
          <LaneCharts name={name} rule={made.rule} played={played} head={props.head} />
          <LaneNumbers rule={made.rule} result={played.result} decisionNs={played.decisionNs} />
          <Refusals played={played} />
        </>
      )}
    </section>
  )
}

function Refusals({ played: { refusals, fromMs } }: { played: PlayedLane }): JSX.Element {
  if (refusals.length === 0) return <p class="quiet-note">Nothing was rejected.</p>
  return (
    <details class="refusals" open>
      <summary>First rejections</summary>
      <ol>
        {refusals.map((refusal, index) => (
          <li key={index}>{describeRefusal(refusal, fromMs)}</li>
        ))}
      </ol>
    </details>
  )
}
