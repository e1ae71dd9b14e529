/** What the address asks for. All of it stands in the fragment, so nothing of it is ever sent to a server. */
export interface Route {
  readonly view: 'live' | 'playground'
  /** What follows the question mark, as it stands there; empty when nothing does. */
  readonly query: string
  /** The token that `sluice serve` puts into the address it prints. */
  readonly token: string | undefined
}

/** Reads a fragment such as `#/playground?v=1` or `#token=abc`. Anything unknown is the live view. */
export function readRoute(fragment: string): Route {
  const text = fragment.replace(/^#/, '')
  const token = /(?:^|&)token=([^&]*)/.exec(text)?.[1]
  const [path, ...rest] = text.split('?')
  return {
    view: path === '/playground' ? 'playground' : 'live',
    query: rest.join('?'),
    token: token === undefined || token === '' ? undefined : decode(token),
  }
}

/** The fragment of a view. */
export function routeTo(view: Route['view'], query = ''): string {
  return query === '' ? `#/${view}` : `#/${view}?${query}`
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
