import type { JSX } from 'preact'
import { useId, useState } from 'preact/hooks'
import { parseNumber } from '../playground/rule-choice.ts'
import { formatDuration } from '../words/lengths.ts'
import type { KeyRequest, ServiceReply } from './service-client.ts'
import { TokenForm } from './token-form.tsx'
import { service } from './use-live.tsx'

/** Resets, blocks and unblocks a key. The service asks for its token first. */
export function KeyActions(props: {
  request: KeyRequest
  isBlocked: boolean
  token: string | undefined
  keepToken: (token: string) => void
  changed: () => void
}): JSX.Element {
  const { request, token } = props
  const id = useId()
  const [length, setLength] = useState('5m')
  const [answer, setAnswer] = useState<ServiceReply<unknown> | undefined>()
  const [done, setDone] = useState('')
  const blockMs = parseNumber('duration', length)
  const change = async (asking: Promise<ServiceReply<unknown>>, words: string): Promise<void> => {
    const next = await asking
    setAnswer(next)
    setDone(next.kind === 'told' ? words : '')
    props.changed()
  }
  const block = (event: Event): void => {
    event.preventDefault()
    if (blockMs === undefined) return
    void change(service.block(request, blockMs, token), `Blocked for ${formatDuration(blockMs)}.`)
  }
  return (
    <>
      <form class="row key-actions" onSubmit={block}>
        <button type="button" class="quiet" onClick={() => change(service.reset(request, token), 'Reset.')}>
          Reset
        </button>
        <span class="row">
          <label for={id}>Block for</label>
          <input
            id={id}
            class="typed"
            size={6}
            autocomplete="off"
            value={length}
            aria-invalid={blockMs === undefined}
            onInput={(event) => setLength(event.currentTarget.value)}
          />
          <button type="submit" class="quiet">
            Block
          </button>
        </span>
        {props.isBlocked ? (
          <button type="button" class="quiet" onClick={() => change(service.unblock(request, token), 'Unblocked.')}>
            Unblock
          </button>
        ) : null}
        <span role="status" class="note">
          {done}
        </span>
      </form>
      {answer?.kind === 'failed' ? <p class="alert">{answer.why}</p> : null}
      {answer?.kind === 'locked' ? (
        <TokenForm
          why="Changes to a key need it."
          wasGiven={token !== undefined}
          keepToken={(next) => {
            setAnswer(undefined)
            props.keepToken(next)
          }}
        />
      ) : null}
    </>
  )
}
