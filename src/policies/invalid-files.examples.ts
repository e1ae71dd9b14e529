import * as forms from '../rules/forms.ts'

const RULE_NAMES = Object.values(forms)
  .map(({ name }) => name)
  .sort()
  .join(', ')

/** Files that are wrong, and all that is to be said about each. */
export const INVALID_FILES: readonly (readonly [title: string, text: string, problems: readonly string[]])[] = [
  [
    'an empty file',
    '',
    [
      '1:1: a policies file must start with "policies:", such as policies: { api: { rule: sliding-window, limit: 100, window: 1m } }',
    ],
  ],
  [
    'only a comment',
    '# soon\n',
    [
      '1:1: a policies file must start with "policies:", such as policies: { api: { rule: sliding-window, limit: 100, window: 1m } }',
    ],
  ],
  [
    'a list',
    '- api\n',
    [
      '1:1: a policies file must start with "policies:", such as policies: { api: { rule: sliding-window, limit: 100, window: 1m } }',
    ],
  ],
  [
    'no policies',
    'limits: {}\n',
    [
      '1:1: unknown name "limits" in a policies file; use policies, or x- in front of what aliases repeat',
      '1:1: policies must be at least one policy by its name, such as policies: { api: { rule: sliding-window, limit: 100, window: 1m } }, got nothing',
    ],
  ],
  [
    'policies that are empty',
    'policies:\n',
    [
      '1:10: policies must be at least one policy by its name, such as policies: { api: { rule: sliding-window, limit: 100, window: 1m } }, got null',
    ],
  ],
  [
    'policies as a list',
    'policies: [api]\n',
    [
      '1:11: policies must be at least one policy by its name, such as policies: { api: { rule: sliding-window, limit: 100, window: 1m } }, got an array',
    ],
  ],
  [
    'no YAML',
    'policies: { api: \n',
    ['1:18: Flow map in block collection must be sufficiently indented and end with a }'],
  ],
  [
    'two documents',
    'policies: { a: { rule: fixed-window, limit: 1, window: 1s } }\n---\npolicies: {}\n',
    ['2:1: a file has one document. Remove everything from this line on'],
  ],
  ['a tag', 'policies: !secret x\n', ['1:11: tags such as "!secret" are not supported. Remove the tag']],
  [
    'a policy that is not there',
    'policies:\n  ? api\n',
    ['2:5: the policy "api" must be options by name, such as { rule: sliding-window, limit: 100, window: 1m }'],
  ],
  [
    'a policy that is a text',
    'policies:\n  api: 100\n',
    ['2:8: the policy "api" must be options by name, such as { rule: sliding-window, limit: 100, window: 1m }'],
  ],
  [
    'a policy without a rule',
    'policies:\n  api: { limit: 1 }\n',
    ['2:3: the policy "api" needs a rule, such as rule: sliding-window, or tiers'],
  ],
  [
    'a rule that does not exist',
    'policies:\n  api: { rule: sliding-windw, limit: 100, window: 1m }\n',
    [`2:16: rule must be one of ${RULE_NAMES}, got "sliding-windw", did you mean "sliding-window"?`],
  ],
  [
    'a rule that is no text',
    'policies:\n  api: { rule: { limit: 1 } }\n',
    [`2:16: rule must be one of ${RULE_NAMES}, got an object`],
  ],
  [
    'several mistakes in one limit',
    'policies:\n  api:\n    rule: sliding-window\n    limit: 0\n    window: soon\n    shadow: maybe\n    blockFor: 0\n    colour: red\n',
    [
      '4:12: limit must be a whole number of at least 1, got 0',
      `5:13: window must be a duration such as 250ms, 1m or 1h30m (units ms, s, m, h, d, w), got "soon"`,
      '6:13: shadow must be true or false, got "maybe"',
      `7:15: blockFor must be a duration such as 250ms, 1m or 1h30m (units ms, s, m, h, d, w), got 0`,
      '8:5: the policy "api" by the rule sliding-window has no option "colour": it takes rule, limit, window, maxDebt, shadow, blockFor, onStoreFailure, prefetch, timeout, instances, denialCache, idempotencyTtl, maxQueue, nearLimitAt',
    ],
  ],
  [
    'an option that is nearly right',
    'policies:\n  api: { rule: fixed-window, limt: 1, limit: 1, window: 1s, timeou: 1s }\n',
    [
      '2:30: the policy "api" by the rule fixed-window has no option "limt", did you mean "limit"?',
      '2:61: the policy "api" by the rule fixed-window has no option "timeou", did you mean "timeout"?',
    ],
  ],
  [
    'what a rule needs',
    'policies:\n  api: { rule: token-bucket }\n',
    [
      '2:3: token-bucket needs capacity, tokens that fit, the largest burst, such as capacity: 100',
      '2:3: token-bucket needs refill, tokens that come back in every period, such as refill: 100',
      '2:3: token-bucket needs period, length of the period, such as period: 1m',
    ],
  ],
  [
    'a name twice',
    'policies:\n  api: { rule: fixed-window, limit: 1, window: 1s }\n  api: { rule: fixed-window, limit: 2, limit: 3, window: 1s }\n',
    ['3:3: duplicate name "api". Remove one', '3:40: duplicate name "limit". Remove one'],
  ],
  [
    'numbers that are no numbers',
    'policies:\n  api: { rule: fixed-window, limit: 1.5, window: -1 }\n  b: { rule: fixed-window, limit: "5", window: 60 }\n  c: { rule: fixed-window, limit: 9007199254740993, window: 1s }\n',
    [
      '2:37: limit must be a whole number of at least 1, got 1.5',
      '2:50: window must be a duration such as 250ms, 1m or 1h30m (units ms, s, m, h, d, w), got -1',
      '3:35: limit must be a whole number of at least 1, got "5"',
      `3:48: window must be a duration such as 250ms, 1m or 1h30m (units ms, s, m, h, d, w), got 60`,
      '4:35: limit must be a whole number from 1 to 9007199254740991, got 9007199254740992',
    ],
  ],
  [
    'a window of nothing',
    'policies:\n  api: { rule: fixed-window, limit: 1, window: 0s }\n',
    ['2:48: window must be from 1 ms to 10 years (3653d), got "0s"'],
  ],
  [
    'numbers that are too large together',
    'policies:\n  api: { rule: sliding-window, limit: 9000000000, window: 3650d }\n',
    [
      '2:39: limit × window must stay below 2^53, got 9000000000 × 315360000000: at most 28561 × 315360000000 is counted exactly',
    ],
  ],
  [
    'options that do not go together',
    'policies:\n  api: { rule: leaky-bucket, capacity: 1, leak: 1, period: 1s, maxWait: 1s }\n',
    ["2:73: maxWait needs mode: 'shape'; mode 'police' never waits. Remove maxWait"],
  ],
  [
    'a choice that is none',
    'policies:\n  api: { rule: leaky-bucket, capacity: 1, leak: 1, period: 1s, mode: shapes, onStoreFailure: ignore }\n',
    [
      "2:70: mode must be 'police' or 'shape', got \"shapes\"",
      "2:94: onStoreFailure must be 'fallback', 'allow', 'refuse' or 'throw', got \"ignore\"",
    ],
  ],
  [
    'options of a limiter',
    'policies:\n  api:\n    rule: fixed-window\n    limit: 1\n    window: 1s\n    timeout: 5\n    instances: 0\n    denialCache: never\n    idempotencyTtl: 0s\n    maxQueue: 0\n    nearLimitAt: 2\n    hashTag: true\n',
    [
      `6:14: timeout must be a duration such as 250ms, 1m or 1h30m (units ms, s, m, h, d, w), got 5`,
      '7:16: instances must be a whole number from 1 to 1000000, got 0',
      `8:18: denialCache must be a duration such as 250ms, 1m or 1h30m (units ms, s, m, h, d, w), or false, got "never"`,
      '9:21: idempotencyTtl must be from 1 ms to 10 years (3653d), got "0s"',
      '10:15: maxQueue must be a whole number of at least 1, got 0',
      '11:18: nearLimitAt must be a number above 0 and at most 1, got 2',
      '12:5: the policy "api" by the rule fixed-window has no option "hashTag": it takes rule, limit, window, anchor, maxDebt, shadow, blockFor, onStoreFailure, prefetch, timeout, instances, denialCache, idempotencyTtl, maxQueue, nearLimitAt',
    ],
  ],
  [
    'prefetch that is wrong',
    'policies:\n  a: { rule: gcra, limit: 1, period: 1s, prefetch: often }\n  b: { rule: gcra, limit: 1, period: 1s, prefetch: { maxTime: 5ms } }\n  c: { rule: gcra, limit: 1, period: 1s, prefetch: { maxTime: 100 } }\n  d: { rule: gcra, limit: 1, period: 1s, prefetch: { share: 0.1 } }\n',
    [
      '2:52: prefetch must be true, false or { maxTime, maxShare }, got "often"',
      '3:52: maxTime must be from 10 ms to 10 s, got "5ms"',
      '4:52: maxTime must be a duration such as 250ms, 1m or 1h30m (units ms, s, m, h, d, w), got 100',
      '5:52: prefetch has no option "share": it takes maxTime, maxShare',
    ],
  ],
  [
    'prefetch of rules whose requests depend on each other',
    'policies:\n  a: { rule: concurrency, limit: 1, lease: 1m, prefetch: true }\n  b: { rule: leaky-bucket, capacity: 5, leak: 5, period: 1s, mode: shape, prefetch: { maxTime: 50ms } }\n  c: { tiers: { x: { rule: concurrency, limit: 1, lease: 1m, prefetch: true } } }\n  d: { rule: concurrency, limit: 1, lease: 1m, prefech: false }\n',
    [
      '2:58: prefetch does not work with this rule, concurrency: its requests depend on each other. Remove prefetch',
      '3:85: prefetch does not work with this rule, leaky-bucket with mode: shape: its requests depend on each other. Remove prefetch',
      '4:72: prefetch does not work with this rule, concurrency: its requests depend on each other. Remove prefetch',
      '5:48: the policy "d" by the rule concurrency has no option "prefech", did you mean "prefetch"?',
    ],
  ],
  [
    'tiers of nothing',
    'policies:\n  api: { tiers: {} }\n',
    [
      '2:17: tiers must be limits by name, such as { user: { rule: sliding-window, limit: 100, window: 1m } }, got an object',
    ],
  ],
  [
    'tiers that are a list',
    'policies:\n  api: { tiers: [a] }\n',
    [
      '2:17: tiers must be limits by name, such as { user: { rule: sliding-window, limit: 100, window: 1m } }, got an array',
    ],
  ],
  [
    'tiers with mistakes',
    'policies:\n  api:\n    rule: fixed-window\n    limit: 3\n    timeoutMs: 1\n    tiers:\n      user: 100\n      ip: { rule: fixed-window, limit: 1, window: 1s, timeout: 1s }\n      kind: { limit: 1 }\n',
    [
      '2:3: the policy "api" has a rule and tiers. Remove one',
      '4:5: the policy "api", which has tiers, has no option "limit": it takes tiers, onStoreFailure, prefetch, timeout, instances, denialCache, idempotencyTtl, maxQueue, nearLimitAt, hashTag',
      '5:5: the policy "api", which has tiers, has no option "timeoutMs", did you mean "timeout"?',
      '7:13: the tier "user" of policy "api" must be a limit, such as { rule: sliding-window, limit: 100, window: 1m }',
      '8:55: the tier "ip" by the rule fixed-window has no option "timeout": it takes rule, limit, window, anchor, maxDebt, shadow, blockFor, onStoreFailure, prefetch',
      '9:7: the tier "kind" must be called something else: kind and name are the parts of a key',
      `9:7: the tier "kind" needs a rule: ${RULE_NAMES}`,
    ],
  ],
  [
    'names that are too long or not for us',
    `policies:\n  ? ${'x'.repeat(101)}\n  : { rule: fixed-window, limit: 1, window: 1s }\n  __proto__: { rule: fixed-window, limit: 1, window: 1s }\n`,
    [
      `2:5: the name of the policy "${'x'.repeat(60)}…" must have 1 to 100 characters, got 101`,
      '4:3: the policy "__proto__" must be called something else',
    ],
  ],
  [
    'names that are no texts',
    'policies:\n  ? [a, b]\n  : { rule: fixed-window, limit: 1, window: 1s }\n  "": 1\n',
    ['2:5: a name must be a non-empty string', '4:3: a name must be a non-empty string'],
  ],
  [
    'an alias of nothing',
    'policies:\n  api: *defaults\n',
    ['2:8: unknown anchor "defaults". Define it above this line'],
  ],
  [
    'a value that contains itself',
    'policies: &all\n  api: *all\n',
    ['2:8: unknown anchor "all". Define it above this line'],
  ],
  [
    'a mistake that several aliases use',
    'x-d: &d { rule: fixed-window, limit: 0, window: 1s }\npolicies:\n  a: *d\n  b: *d\n',
    ['1:38: limit must be a whole number of at least 1, got 0'],
  ],
  [
    'what cannot be merged',
    'policies:\n  api: { <<: 5, rule: fixed-window, limit: 1, window: 1s }\n',
    ['2:14: << takes one map, such as the alias *defaults'],
  ],
]
