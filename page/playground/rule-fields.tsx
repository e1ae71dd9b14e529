import type { JSX } from 'preact'
import { useId } from 'preact/hooks'
import type { RuleField, RuleForm } from '../../src/rules/rule-form.ts'
import { LadderField } from './ladder-field.tsx'
import type { RuleChoice } from './rule-choice.ts'

/** The fields of a rule, from its form alone: what must be said first, what may be left out folded away. */
export function RuleFields(props: {
  form: RuleForm
  choice: RuleChoice
  change: (choice: RuleChoice) => void
}): JSX.Element {
  const { form, choice, change } = props
  const set = (field: RuleField, text: string): void =>
    change({ ...choice, values: { ...choice.values, [field.name]: text } })
  const needed = form.fields.filter((field) => field.example !== undefined)
  const optional = form.fields.filter((field) => field.example === undefined)
  return (
    <>
      <div class="ladders">
        {needed.map((field) => (
          <LadderField
            key={field.name}
            label={field.name}
            about={field.about}
            kind={field.kind === 'duration' ? 'duration' : 'count'}
            value={choice.values[field.name] ?? ''}
            change={(text) => set(field, text)}
          />
        ))}
      </div>
      <details class="more-options">
        <summary>More options</summary>
        <div class="fields">
          {optional.map((field) => (
            <OptionalField
              key={field.name}
              field={field}
              value={choice.values[field.name] ?? ''}
              change={(text) => set(field, text)}
            />
          ))}
        </div>
      </details>
    </>
  )
}

function OptionalField(props: { field: RuleField; value: string; change: (text: string) => void }): JSX.Element {
  const { field, value, change } = props
  const id = useId()
  return (
    <>
      <label for={id} title={field.about}>
        {field.name}
      </label>
      {field.choices === undefined ? (
        <input
          id={id}
          placeholder="default"
          title={field.about}
          autocomplete="off"
          value={value}
          onInput={(event) => change(event.currentTarget.value)}
        />
      ) : (
        <select
          id={id}
          title={field.about}
          value={value === '' ? field.choices[0] : value}
          onChange={(event) => change(event.currentTarget.value)}
        >
          {field.choices.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      )}
    </>
  )
}
