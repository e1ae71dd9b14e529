import type { Settings } from './settings.ts'

/** Settings to start from, for one use of limits. */
export interface Preset extends Settings {
  readonly name: string
  /** What the limits are for, in one sentence. */
  readonly about: string
}

/** Five uses, each with the limits that fit it first and what people try before after them. */
export const PRESETS: readonly Preset[] = [
  {
    name: 'Login',
    about: 'A few guesses a minute and not many an hour, for each account.',
    rules: [
      {
        rule: 'sliding-window',
        values: { limit: '5', window: '1m' },
        tiers: [{ rule: 'fixed-window', values: { limit: '20', window: '1h' } }],
      },
      { rule: 'fixed-window', values: { limit: '5', window: '1m' } },
    ],
    traffic: { kind: 'bursts', values: { burst: '12', over: '20s', pause: '2m', for: '1h', keys: '4' } },
  },
  {
    name: 'Public API',
    about: 'Short bursts pass, and each client keeps to a rate per minute.',
    rules: [
      {
        rule: 'token-bucket',
        values: { capacity: '20', refill: '5', period: '1s' },
        tiers: [{ rule: 'sliding-window', values: { limit: '200', window: '1m' } }],
      },
      { rule: 'sliding-window', values: { limit: '200', window: '1m' } },
      { rule: 'fixed-window', values: { limit: '200', window: '1m' } },
    ],
    traffic: { kind: 'poisson', values: { rate: '20', for: '5m', keys: '5' } },
  },
  {
    name: 'AI tokens',
    about: 'A budget of tokens for each user, where one request costs hundreds of them.',
    rules: [
      {
        rule: 'token-bucket',
        values: { capacity: '20000', refill: '20000', period: '1m' },
        tiers: [{ rule: 'fixed-window', values: { limit: '200000', window: '1d' } }],
      },
      { rule: 'fixed-window', values: { limit: '20000', window: '1m' } },
    ],
    traffic: { kind: 'poisson', values: { rate: '2', cost: '800', keys: '3', for: '10m' } },
  },
  {
    name: 'Webhook fan-out',
    about: 'One event becomes hundreds of calls, which leave evenly instead of being rejected.',
    rules: [
      { rule: 'leaky-bucket', values: { capacity: '200', leak: '10', period: '1s', mode: 'shape' } },
      { rule: 'token-bucket', values: { capacity: '20', refill: '10', period: '1s' } },
    ],
    traffic: { kind: 'bursts', values: { burst: '150', pause: '20s', for: '2m' } },
  },
  {
    name: 'Strict partner contract',
    about: 'Never more than the contract says in any minute, even when the partner aims at the edge of a window.',
    rules: [
      {
        rule: 'strict-window',
        values: { limit: '100', window: '1m' },
        tiers: [{ rule: 'fixed-window', values: { limit: '1000', window: '1h' } }],
      },
      { rule: 'sliding-log', values: { limit: '100', window: '1m' } },
      { rule: 'sliding-window', values: { limit: '100', window: '1m' } },
      { rule: 'fixed-window', values: { limit: '100', window: '1m' } },
    ],
    traffic: { kind: 'adversary', values: { for: '30m' } },
  },
]
