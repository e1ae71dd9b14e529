import type { JSX } from 'preact'
import type { LiveGrants, LivePolicy } from '../../src/observe/live-report.ts'
import { describeGrants } from '../words/grant-words.ts'

/** What processes have prefetched of a key, by each limit that lets them. */
export function KeyPrefetch({
  policy,
  grants,
}: {
  policy: LivePolicy
  grants: readonly LiveGrants[] | null
}): JSX.Element | null {
  if (!policy.tiers.some(({ isPrefetched }) => isPrefetched)) return null
  return (
    <>
      <h3>Prefetched</h3>
      {grants === null ? <p class="note">The store did not say what is prefetched.</p> : null}
      <dl class="facts prefetched">
        {grants?.map((of) => (
          <>
            <dt>{of.limit}</dt>
            <dd>{describeGrants(of)}</dd>
          </>
        ))}
      </dl>
    </>
  )
}
