import { importEntry } from '../build.mjs'
import { isOurs, PATIENT, passes, ruleOf, subjects } from './subjects.mjs'

/** Three limits for one request: the user's, the address's and one for all. In one decision of ours, and as three limiters of each peer. */
export const tierSubjects = [
  { name: 'sluice, three tiers', algorithm: 'one of each', open: sluiceTiers },
  ...subjects.filter((subject) => !isOurs(subject) && subject.cache !== true).map(stacked),
]

async function sluiceTiers({ redis, name, build, ...limit }) {
  const { createLimiter, ...rules } = await importEntry('index', build)
  const { redisStore } = await importEntry('redis', build)
  const tiers = {
    user: ruleOf(rules, 'slidingWindow', limit),
    ip: ruleOf(rules, 'tokenBucket', limit),
    all: ruleOf(rules, 'fixedWindow', limit),
  }
  const limiter = createLimiter({ name, tiers, store: redisStore(redis), ...PATIENT })
  return async (user) => passes(await limiter.consume({ user, ip: user, all: 'all' }))
}

// All at once is the fastest a peer can be asked. It charges all of them even when one refuses.
function stacked({ name, algorithm, open }) {
  return {
    name: `3 × ${name}`,
    algorithm,
    async open({ name: limiterName, ...options }) {
      const ofTier = (tier) => open({ ...options, name: `${limiterName}-${tier}` })
      const [user, ip, all] = [await ofTier('user'), await ofTier('ip'), await ofTier('all')]
      return async (key) => (await Promise.all([user(key), ip(key), all('all')])).every(Boolean)
    },
  }
}
