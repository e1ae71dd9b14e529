import type { JSX } from 'preact'
import { useId, useState } from 'preact/hooks'
import { Panel } from '../frame/panel.tsx'
import { composeTypescript, composeYaml } from './code.ts'
import { CopyButton } from './copy-button.tsx'
import type { RuleChoice } from './rule-choice.ts'

const LANGUAGES = [
  { name: 'TypeScript', write: composeTypescript },
  { name: 'Policies (YAML)', write: composeYaml },
] as const

/** The chosen rules as code to take along. `choices` are the ones that can be made. */
export function CodePanel({ choices }: { choices: readonly RuleChoice[] }): JSX.Element {
  const id = useId()
  const [chosen, choose] = useState(0)
  const text = choices.length === 0 ? '' : (LANGUAGES[chosen] as (typeof LANGUAGES)[number]).write(choices)
  const pressed = (event: JSX.TargetedKeyboardEvent<HTMLElement>): void => {
    const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (by === 0) return
    const next = (chosen + by + LANGUAGES.length) % LANGUAGES.length
    choose(next)
    document.getElementById(`${id}${next}`)?.focus()
  }
  const tabs = (
    <div role="tablist" aria-label="Language" class="tabs" onKeyDown={pressed}>
      {LANGUAGES.map(({ name }, index) => (
        <button
          key={name}
          type="button"
          role="tab"
          id={`${id}${index}`}
          aria-controls={`${id}panel`}
          aria-selected={index === chosen}
          tabIndex={index === chosen ? 0 : -1}
          onClick={() => choose(index)}
        >
          {name}
        </button>
      ))}
    </div>
  )
  return (
    <Panel title="Code" class="code" aside={<CopyButton words="Copy code" text={() => text} />}>
      {tabs}
      <div role="tabpanel" id={`${id}panel`} aria-labelledby={`${id}${chosen}`}>
        {/* It scrolls sideways, so the keyboard must reach it. */}
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to take the focus */}
        {text === '' ? <p class="empty">No rule can be made yet.</p> : <pre tabIndex={0}>{text}</pre>}
      </div>
    </Panel>
  )
}
