/** The rule of a limit: `{ kind, limit, windowMs }`, where what a bucket holds comes back in a window. */
export function ruleOf(rules, { kind, limit, windowMs }) {
  if (kind === 'tokenBucket') return rules.tokenBucket({ capacity: limit, refill: limit, period: windowMs })
  if (kind === 'leakyBucket') return rules.leakyBucket({ capacity: limit, leak: limit, period: windowMs })
  return rules[kind]({ limit, window: windowMs })
}

/** The one key that all ask about. */
export const HOT = 'tenant:7'
