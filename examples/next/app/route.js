import { getDecision, rateLimit } from 'sluice/fetch'
import { visitors } from '../limits.mjs'

// A Request of Next.js has no address, but the one proxy in front of it tells it.
export const GET = rateLimit({ limiter: visitors, trustProxy: 1 })(async (request) =>
  Response.json({ hello: 'world', remaining: getDecision(request).remaining }),
)
