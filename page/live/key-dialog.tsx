import type { JSX } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { LivePolicy } from '../../src/observe/live-report.ts'
import { describeDecision } from '../words/decision-words.ts'
import { formatTimeOfDay } from '../words/lengths.ts'
import { KeyActions } from './key-actions.tsx'
import { KeyLimits } from './key-limits.tsx'
import { KeyPrefetch } from './key-prefetch.tsx'
import type { RequestKey } from './key-text.ts'
import type { KeyJson, ServiceReply } from './service-client.ts'
import { service } from './use-live.tsx'

/** Which key is open. */
export interface OpenedKey {
  readonly policy: LivePolicy
  /** Absent when the service knows only the hash of its name. */
  readonly key: RequestKey | undefined
  /** The key as a report writes it. */
  readonly text: string
}

/** What the service has stored of one key and why it refused it, with the ways to change that. */
export function KeyDialog(props: {
  opened: OpenedKey
  token: string | undefined
  keepToken: (token: string) => void
  close: () => void
}): JSX.Element {
  const { policy, key, text } = props.opened
  const id = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  const [answer, ask] = useKey(policy.name, key, props.token)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} class="panel key-dialog" aria-labelledby={id} onClose={props.close}>
      <div class="panel-head">
        <h2 id={id}>
          <span class="key">{text}</span> <span class="note">{policy.name}</span>
        </h2>
        <button type="button" class="quiet" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
      {key === undefined ? (
        <p class="alert">The name of this key is longer than 200 characters. The service keeps only its hash.</p>
      ) : null}
      {answer?.kind === 'failed' ? <p class="alert">{answer.why}</p> : null}
      {answer?.kind === 'told' ? <KeyReport policy={policy} report={answer.value} /> : null}
      {key === undefined ? null : (
        <KeyActions
          request={{ policy: policy.name, key }}
          isBlocked={answer?.kind === 'told' && answer.value.decision.reason === 'blocked'}
          token={props.token}
          keepToken={props.keepToken}
          changed={ask}
        />
      )}
    </dialog>
  )
}

function KeyReport({ policy, report }: { policy: LivePolicy; report: KeyJson }): JSX.Element {
  const { decision, grants, refusals } = report
  return (
    <>
      <p class={decision.allowed ? 'verdict allowed' : 'verdict refused'}>
        {decision.allowed ? 'The next request passes.' : describeDecision(decision)}
      </p>
      <KeyLimits policy={policy} decision={decision} />
      <KeyPrefetch policy={policy} grants={grants} />
      <h3>Last rejections</h3>
      {refusals.length === 0 ? <p class="note">The service has no recent rejection of this key.</p> : null}
      <ol class="refusals-of-key">
        {refusals.map((refusal, index) => (
          <li key={index}>
            <b>{formatTimeOfDay(refusal.atMs)}</b> {describeDecision({ ...NO_TIME, ...refusal })}
          </li>
        ))}
      </ol>
    </>
  )
}

const NO_TIME = { allowed: false, resetAfterMs: 0, delayMs: 0 } as const

/** What is known of a key, asked for every second, and the function that asks at once. */
function useKey(
  policy: string,
  key: RequestKey | undefined,
  token: string | undefined,
): [ServiceReply<KeyJson> | undefined, () => void] {
  const [answer, setAnswer] = useState<ServiceReply<KeyJson> | undefined>()
  const [asked, setAsked] = useState(0)
  useEffect(() => {
    if (key === undefined) return
    let timeout: ReturnType<typeof setTimeout> | undefined
    let isOver = false
    const turn = async (): Promise<void> => {
      const next = await service.inspect({ policy, key }, token)
      if (isOver) return
      setAnswer(next)
      timeout = setTimeout(turn, 1_000)
    }
    void turn()
    return () => {
      isOver = true
      clearTimeout(timeout)
    }
  }, [policy, key, token, asked])
  return [answer, () => setAsked((before) => before + 1)]
}
