import type { JSX } from 'preact'
import { useId } from 'preact/hooks'
import type { RuleForm } from '../../src/rules/rule-form.ts'
import { changeRule, findForm, type RuleChoice, suggestChoice, TIER_FORMS } from './rule-choice.ts'
import { RuleFields } from './rule-fields.tsx'
import { MOST_TIERS } from './settings.ts'

/** The further tiers of a lane: a request passes when the rule and all of them let it pass. */
export function TierFields(props: { choice: RuleChoice; change: (choice: RuleChoice) => void }): JSX.Element | null {
  const { choice, change } = props
  const { tiers = [] } = choice
  if (!TIER_FORMS.some(({ name }) => name === choice.rule)) return null
  const set = (next: readonly RuleChoice[]): void => {
    const { tiers: _, ...alone } = choice
    change(next.length === 0 ? alone : { ...alone, tiers: next })
  }
  return (
    <>
      {tiers.map((tier, index) => (
        <TierField
          key={index}
          number={index + 2}
          tier={tier}
          change={(next) => set(tiers.with(index, next))}
          remove={() => set(tiers.toSpliced(index, 1))}
        />
      ))}
      {tiers.length + 1 >= MOST_TIERS ? null : (
        <button type="button" class="link" onClick={() => set([...tiers, suggestTier()])}>
          Add a tier
        </button>
      )}
    </>
  )
}

function TierField(props: {
  number: number
  tier: RuleChoice
  change: (tier: RuleChoice) => void
  remove: () => void
}): JSX.Element {
  const { number, tier, change } = props
  const id = useId()
  return (
    <fieldset class="tier-field" aria-label={`Tier ${number}`}>
      <div class="panel-head">
        <label for={id}>and</label>
        <select
          id={id}
          class="rule-name"
          value={tier.rule}
          onChange={(event) => change(changeRule(findForm(event.currentTarget.value) as RuleForm, tier))}
        >
          {TIER_FORMS.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
        <button type="button" class="quiet" aria-label={`Remove tier ${number}`} onClick={props.remove}>
          Remove
        </button>
      </div>
      <RuleFields form={findForm(tier.rule) as RuleForm} choice={tier} change={change} />
    </fieldset>
  )
}

function suggestTier(): RuleChoice {
  return suggestChoice(findForm('fixed-window') as RuleForm)
}
