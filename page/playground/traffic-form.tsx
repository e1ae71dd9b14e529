import type { JSX } from 'preact'
import { Panel } from '../frame/panel.tsx'
import { LadderField } from './ladder-field.tsx'
import { listFields, readValue, TRAFFIC_KINDS, type TrafficChoice, type TrafficKind } from './traffic-choice.ts'

/** Shapes the requests that all rules get. */
export function TrafficForm(props: {
  traffic: TrafficChoice
  /** Whether any rule asks how long work lasts. */
  asksWork: boolean
  problem: string | undefined
  change: (traffic: TrafficChoice) => void
}): JSX.Element {
  const { traffic, problem, change } = props
  return (
    <Panel title="Traffic" aside={<span class="note">{TRAFFIC_KINDS[traffic.kind]}</span>} class="traffic">
      <fieldset class="kinds">
        <legend class="visually-hidden">How requests come</legend>
        {(Object.keys(TRAFFIC_KINDS) as TrafficKind[]).map((kind) => (
          <label key={kind}>
            <input
              type="radio"
              name="traffic-kind"
              checked={kind === traffic.kind}
              onChange={() => change({ ...traffic, kind })}
            />
            {kind}
          </label>
        ))}
      </fieldset>
      <div class="ladders">
        {listFields(traffic.kind)
          .filter(({ word }) => word !== 'work' || props.asksWork)
          .map((field) => (
            <LadderField
              key={field.word}
              {...field}
              value={readValue(traffic, field)}
              change={(text) => change({ ...traffic, values: { ...traffic.values, [field.word]: text } })}
            />
          ))}
      </div>
      {problem === undefined ? null : (
        <p class="alert" role="alert">
          {problem}
        </p>
      )}
    </Panel>
  )
}
