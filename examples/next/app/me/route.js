import { byUser, getDecision, rateLimit } from 'sluice/fetch'
import { users } from '../../limits.mjs'

// A name is taken at its word here. In your app it comes from what has checked it: a session, a signed token.
const userOf = (request) => /^Bearer (.+)$/.exec(request.headers.get('authorization') ?? '')?.[1]

// Who is not signed in has no key, and is refused.
export const GET = rateLimit({ limiter: users, key: byUser(userOf), onMissingKey: 'refuse' })(async (request) =>
  Response.json({ user: userOf(request), remaining: getDecision(request).remaining }),
)
