/** What is served when no file is named: a limit, tiers and a budget to try things out with. */
export const DEMO_POLICIES = `policies:
  api:
    rule: sliding-window
    limit: 100
    window: 1m
  messages:
    tiers:
      user: { rule: sliding-window, limit: 60, window: 1m }
      ip: { rule: token-bucket, capacity: 20, refill: 2, period: 1s }
  tokens:
    rule: fixed-window
    limit: 100000
    window: 1d
`
