import type { JSX } from 'preact'
import { useId, useState } from 'preact/hooks'
import type { LivePolicy } from '../../src/observe/live-report.ts'
import { Panel } from '../frame/panel.tsx'
import { describeDecision } from '../words/decision-words.ts'
import type { OpenedKey } from './key-dialog.tsx'
import { composeConsumeRequest, type DecisionJson, type ServiceReply } from './service-client.ts'
import { TokenForm } from './token-form.tsx'
import { service } from './use-live.tsx'

/** Asks the service one real question, which counts, and says the decision in words. */
export function TryPanel(props: {
  policies: readonly LivePolicy[]
  token: string | undefined
  keepToken: (token: string) => void
  open: (key: OpenedKey) => void
}): JSX.Element {
  const id = useId()
  const [name, setName] = useState('')
  const [keys, setKeys] = useState<Readonly<Record<string, string>>>({})
  const [cost, setCost] = useState('1')
  const [answer, setAnswer] = useState<ServiceReply<DecisionJson> | undefined>()
  const policy = props.policies.find((candidate) => candidate.name === name) ?? props.policies[0]
  if (policy === undefined) {
    return (
      <Panel title="Try it" class="narrow">
        <p class="empty">There is no policy to ask.</p>
      </Panel>
    )
  }
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    setAnswer(await service.consume(composeConsumeRequest(policy, keys, cost), props.token))
  }
  const look = (): void => {
    const { key } = composeConsumeRequest(policy, keys, cost)
    props.open({ policy, key, text: policy.tiers.map(({ name }) => keys[name] ?? '').join(', ') })
  }
  const keepToken = (token: string): void => {
    setAnswer(undefined)
    props.keepToken(token)
  }
  return (
    <Panel title="Try it" class="narrow" aside={<span class="note">this request counts</span>}>
      <form class="fields" onSubmit={submit}>
        <label for={`${id}p`}>Policy</label>
        <select id={`${id}p`} value={policy.name} onChange={(event) => setName(event.currentTarget.value)}>
          {props.policies.map((choice) => (
            <option key={choice.name}>{choice.name}</option>
          ))}
        </select>
        {policy.tiers.map((tier) => (
          <KeyField
            key={tier.name}
            id={`${id}k${tier.name}`}
            label={policy.tiers.length === 1 ? 'Key' : `Key of ${tier.name}`}
            value={keys[tier.name] ?? ''}
            change={(text) => setKeys({ ...keys, [tier.name]: text })}
          />
        ))}
        <label for={`${id}c`}>Cost</label>
        <input
          id={`${id}c`}
          type="number"
          min="0"
          step="1"
          required
          value={cost}
          onInput={(event) => setCost(event.currentTarget.value)}
        />
        <span class="row">
          <button type="submit">Consume</button>
          <button type="button" class="quiet" onClick={look}>
            Look at the key
          </button>
        </span>
      </form>
      <Result answer={answer} />
      {answer?.kind === 'locked' ? (
        <TokenForm why="A request that counts needs it." wasGiven={props.token !== undefined} keepToken={keepToken} />
      ) : null}
    </Panel>
  )
}

function KeyField(props: { id: string; label: string; value: string; change: (text: string) => void }): JSX.Element {
  return (
    <>
      <label for={props.id}>{props.label}</label>
      <input
        id={props.id}
        required
        placeholder="user:42"
        autocomplete="off"
        spellcheck={false}
        value={props.value}
        onInput={(event) => props.change(event.currentTarget.value)}
      />
    </>
  )
}

function Result({ answer }: { answer: ServiceReply<DecisionJson> | undefined }): JSX.Element {
  return (
    <div role="status" class="try-answer">
      {answer?.kind === 'failed' ? <p class="alert">{answer.why}</p> : null}
      {answer?.kind === 'told' ? (
        <>
          <p class={answer.value.allowed ? 'verdict allowed' : 'verdict refused'}>{describeDecision(answer.value)}</p>
          <details>
            <summary>The decision as the service sent it</summary>
            <pre>{JSON.stringify(answer.value, null, 2)}</pre>
          </details>
        </>
      ) : null}
    </div>
  )
}
