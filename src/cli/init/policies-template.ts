/**
 * A file of policies to begin with: one policy of each sort.
 *
 * @param schema where the JSON Schema is, seen from the file.
 */
export function composeTemplate(file: string, schema: string): string {
  return `# yaml-language-server: $schema=${schema}
#
# Policies for Sluice.
#   npx sluice check ${file}                  finds mistakes
#   npx sluice simulate --policies ${file}    plays traffic through the rules
#   npx sluice serve --policies ${file}       decides over HTTP
#
# Lengths of time: 250ms, 30s, 1m, 1h30m, 1d.

policies:
  # 100 requests a minute for each key, smoothly.
  api:
    rule: sliding-window
    limit: 100
    window: 1m

  # Five tries in 15 minutes. A key that goes on trying is blocked for an hour.
  login:
    rule: fixed-window
    limit: 5
    window: 15m
    blockFor: 1h

  # A key with thousands of requests a second, on Redis. prefetch: processes take a part of the limit ahead of time, and
  # decide from it without a call for each request. A key with few requests is asked about as without it.
  tenant:
    rule: sliding-window
    limit: 1000000
    window: 1m
    prefetch: true

  # Several limits in one decision: a request passes when all of them let it pass.
  messages:
    tiers:
      # Bursts of up to 20, then 2 a second.
      user: { rule: token-bucket, capacity: 20, refill: 2, period: 1s }
      # shadow: the limit counts and reports, but never refuses. Remove it when the numbers look right.
      ip: { rule: sliding-window, limit: 1000, window: 1m, shadow: true }
    # What to do when Redis does not answer: fallback (decide in memory), allow, refuse or throw.
    onStoreFailure: fallback

  # At most 10 at work at once. A permit that does not come back expires after 30 seconds.
  exports:
    rule: concurrency
    limit: 10
    lease: 30s
`
}
