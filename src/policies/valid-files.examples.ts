/** Files that are right, and the options that they stand for; rules by their parameters. */
export const VALID_FILES: readonly (readonly [title: string, text: string, options: readonly unknown[]])[] = [
  [
    'a policy of one rule',
    'policies:\n  api: { rule: fixed-window, limit: 100, window: 1m }\n',
    [{ name: 'api', rule: { limit: 100, windowMs: 60_000, anchor: 'clock', maxDebt: 100 } }],
  ],
  [
    'JSON',
    '{"policies": {"api": {"rule": "gcra", "limit": 5, "period": "1s", "burst": 2}}}',
    [{ name: 'api', rule: { capacity: 2, refill: 5, periodMs: 1_000, maxDebt: 2 } }],
  ],
  [
    'tiers, and everything that can be said',
    `policies:
  messages:
    tiers:
      user: { rule: sliding-window, limit: 100, window: 1m }
      ip: { rule: token-bucket, capacity: 50, refill: 10, period: 1s, shadow: true, blockFor: 10m, onStoreFailure: allow }
    onStoreFailure: refuse
    timeout: 500ms
    instances: 3
    denialCache: false
    idempotencyTtl: 1h30m
    maxQueue: 5
    nearLimitAt: 0.5
    hashTag: true
`,
    [
      {
        name: 'messages',
        tiers: {
          user: { rule: { limit: 100, windowMs: 60_000, maxDebt: 100 } },
          ip: {
            rule: { capacity: 50, refill: 10, periodMs: 1_000, maxDebt: 50 },
            shadow: true,
            blockFor: 600_000,
            onStoreFailure: 'allow',
          },
        },
        onStoreFailure: 'refuse',
        timeout: 500,
        instances: 3,
        denialCache: false,
        idempotencyTtl: 5_400_000,
        maxQueue: 5,
        nearLimitAt: 0.5,
        hashTag: true,
      },
    ],
  ],
  [
    'quota that is taken ahead of time',
    'policies:\n  api: { rule: gcra, limit: 5, period: 1m, prefetch: { maxTime: 50ms, maxShare: 0.1 } }\n  all: { tiers: { a: { rule: gcra, limit: 5, period: 1m, prefetch: false } }, prefetch: true }\n',
    [
      {
        name: 'api',
        rule: { capacity: 5, refill: 5, periodMs: 60_000, maxDebt: 5 },
        prefetch: { maxTime: '50ms', maxShare: 0.1 },
      },
      {
        name: 'all',
        tiers: { a: { rule: { capacity: 5, refill: 5, periodMs: 60_000, maxDebt: 5 }, prefetch: false } },
        prefetch: true,
      },
    ],
  ],
  [
    'a wait of nothing',
    'policies:\n  api: { rule: leaky-bucket, capacity: 5, leak: 1, period: 1s, mode: shape, maxWait: 0ms, denialCache: 250ms }\n',
    [
      {
        name: 'api',
        rule: { capacity: 5, leak: 1, periodMs: 1_000, mode: 'shape', maxWaitMs: 0, maxDebt: 5 },
        denialCache: 250,
      },
    ],
  ],
  [
    'what is said once and used often',
    `x-minute: &minute { rule: fixed-window, limit: 10, window: 1m }
x-list: [&second { rule: fixed-window, limit: 1, window: 1s }]
policies:
  a: *minute
  b: { <<: *minute, limit: 20, denialCache: 2s }
  c: *second
`,
    [
      { name: 'a', rule: { limit: 10, windowMs: 60_000, anchor: 'clock', maxDebt: 10 } },
      { name: 'b', rule: { limit: 20, windowMs: 60_000, anchor: 'clock', maxDebt: 20 }, denialCache: 2_000 },
      { name: 'c', rule: { limit: 1, windowMs: 1_000, anchor: 'clock', maxDebt: 1 } },
    ],
  ],
  [
    'names that look like something else',
    'policies:\n  42: { rule: fixed-window, limit: 1, window: 1s }\n  true: { rule: fixed-window, limit: 1e3, window: 1s }\n  constructor: { rule: concurrency, limit: 0x10, lease: 30s, maxDebt: 0 }\n',
    [
      { name: '42', rule: { limit: 1, windowMs: 1_000, anchor: 'clock', maxDebt: 1 } },
      { name: 'true', rule: { limit: 1_000, windowMs: 1_000, anchor: 'clock', maxDebt: 1_000 } },
      { name: 'constructor', rule: { limit: 16, leaseMs: 30_000, maxDebt: 0 } },
    ],
  ],
]
