import type { JSX } from 'preact'
import { useId, useState } from 'preact/hooks'

/** Asks for the token, and says why. `wasGiven`: there was one, and it was not accepted. */
export function TokenForm(props: { why: string; wasGiven: boolean; keepToken: (token: string) => void }): JSX.Element {
  const id = useId()
  const [text, setText] = useState('')
  const submit = (event: Event): void => {
    event.preventDefault()
    if (text.trim() !== '') props.keepToken(text.trim())
  }
  return (
    <form class="token-form" onSubmit={submit}>
      <p role="alert">
        {props.wasGiven ? 'The service did not accept this token.' : 'The service asks for its token.'} {props.why} The
        token is the one of <code>--token-file</code> or <code>SLUICE_TOKEN</code>, or what <code>sluice serve</code>{' '}
        printed when it started.
      </p>
      <div class="row">
        <label for={id}>Token</label>
        <input
          id={id}
          type="password"
          autocomplete="off"
          required
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <button type="submit">Unlock</button>
      </div>
    </form>
  )
}
