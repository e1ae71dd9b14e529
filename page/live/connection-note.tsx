import type { JSX } from 'preact'
import type { Connection } from './connection.ts'

/** Says how the page stands with the service. Read out when it changes. */
export function ConnectionNote({ connection }: { connection: Connection }): JSX.Element {
  const { phase, report, why } = connection
  return (
    <div class="connection" role="status">
      {phase === 'live' ? <span class="pill good">Connected</span> : null}
      {phase === 'connecting' ? <span class="pill">Connecting…</span> : null}
      {phase === 'locked' ? <span class="pill bad">Locked</span> : null}
      {phase === 'lost' ? (
        <>
          <span class="pill bad">Stopped</span> {sentence(why)}{' '}
          {report === undefined ? '' : 'The page shows the last numbers that it got. '}
          Trying again…
        </>
      ) : null}
    </div>
  )
}

function sentence(why: string): string {
  return `${why.charAt(0).toUpperCase()}${why.slice(1)}.`
}
