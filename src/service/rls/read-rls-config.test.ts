import { describe, expect, it } from 'vitest'
import { PoliciesError } from '../../policies/policies-error.ts'
import { FORMS } from '../../policies/read-limit.ts'
import { readRlsConfig } from './read-rls-config.ts'

const RULES = FORMS.map(({ name }) => name).join(', ')
const UNITS = 'second, minute, hour, day, week, month, year'

/** The limits of a file, by their paths. */
function read(text: string) {
  const { rateLimits } = readRlsConfig(text, 'envoy.yaml')
  return Object.fromEntries(rateLimits.map(({ path, ...others }) => [path, others]))
}

const one = (rateLimit: string) => `domain: shop\ndescriptors:\n  - key: user\n    rate_limit: ${rateLimit}\n`

describe('a file of rate limits', () => {
  it('has a domain and limits at any depth', () => {
    const config = readRlsConfig(
      `domain: shop
descriptors:
  - key: kind
    value: mail
    descriptors:
      - key: to
        rate_limit: { unit: DAY, requests_per_unit: 5 }
        shadow_mode: true
  - key: to
    rate_limit:
      name: per_receiver
      unit: hour
      requests_per_unit: 100
      replaces: [{ name: other }]
`,
      'envoy.yaml',
    )
    expect(config.domain).toBe('shop')
    expect(config.rateLimits).toMatchObject([
      { path: 'kind=mail/to', label: 'kind/to', name: '', shadow: true, requestsPerUnit: 5, unit: { name: 'day' } },
      {
        path: 'to',
        label: 'per_receiver',
        name: 'per_receiver',
        replaces: ['other'],
        shadow: false,
        requestsPerUnit: 100,
      },
    ])
    expect(config.rateLimits[1]?.rule).toMatchObject({
      kind: 'fixed-window',
      parameters: { limit: 100, windowMs: 3_600_000, anchor: 'clock' },
    })
  })

  it.each([
    ['second', 1_000],
    ['minute', 60_000],
    ['hour', 3_600_000],
    ['day', 86_400_000],
    ['week', 604_800_000],
    ['month', 2_592_000_000],
    ['year', 31_536_000_000],
  ])('counts in windows of a %s', (unit, windowMs) => {
    expect(read(one(`{ unit: ${unit}, requests_per_unit: 7 }`)).user?.rule?.parameters).toMatchObject({ windowMs })
  })

  it.each([
    ['sliding-window', '', { limit: 60, windowMs: 60_000 }],
    ['sliding-log', '', { limit: 60, windowMs: 60_000 }],
    ['token-bucket', '', { capacity: 60, refill: 60, periodMs: 60_000 }],
    ['token-bucket', ', capacity: 10', { capacity: 10, refill: 60, periodMs: 60_000 }],
    ['leaky-bucket', ', capacity: 5', { capacity: 5, leak: 60, periodMs: 60_000 }],
    ['gcra', ', burst: 3', { capacity: 3, refill: 60, periodMs: 60_000 }],
    ['fixed-window', ', anchor: first-hit', { limit: 60, windowMs: 60_000, anchor: 'first-hit' }],
  ])('takes any rule: %s%s', (rule, more, parameters) => {
    const limit = read(one(`{ unit: minute, requests_per_unit: 60, rule: ${rule}${more} }`)).user
    expect(limit?.rule?.parameters).toMatchObject(parameters)
  })

  it('has values as they are written', () => {
    const text = (value: string) =>
      `domain: d\ndescriptors: [{ key: 1.10, value: ${value}, rate_limit: { unit: day, requests_per_unit: 0 } }]`
    expect(Object.keys(read(text('2.50')))).toEqual(['1.10=2.50'])
    expect(Object.keys(read(text('a=b/c%')))).toEqual(['1.10=a%3Db%2Fc%25'])
    expect(Object.keys(read(text('null')))).toEqual(['1.10'])
  })

  it('leaves what is unlimited and what is never allowed without a rule', () => {
    expect(read(one('{ unlimited: true }')).user).toMatchObject({ unlimited: true, rule: undefined, unit: undefined })
    expect(read(one('{ unit: day, requests_per_unit: 0 }')).user).toMatchObject({ unlimited: false, rule: undefined })
  })

  it('may have no limit at all, and names of metrics that change nothing here', () => {
    expect(read('domain: empty\n')).toEqual({})
    expect(read('domain: empty\ndescriptors:\n#  - key: a\n')).toEqual({})
    expect(read('domain: d\ndescriptors: [{ key: a, value: , rate_limit: , shadow_mode: , descriptors: }]\n')).toEqual(
      {},
    )
    expect(read(one('{ unlimited: true, unit: , name: , replaces: }')).user).toMatchObject({ name: '', replaces: [] })
    expect(read('domain: d\ndescriptors: [{ key: a, detailed_metric: true, value_to_metric: true }]\n')).toEqual({})
  })
})

describe('a file with mistakes', () => {
  it.each([
    [
      'nothing',
      '',
      [
        '1:1: a file of rate limits starts with "domain:", such as { domain: shop, descriptors: [{ key: remote_address, rate_limit: { unit: minute, requests_per_unit: 100 } }] }',
      ],
    ],
    [
      'no domain',
      'descriptors: []\ncolour: red\n',
      [
        '1:1: a file of rate limits needs a domain, such as domain: shop',
        '2:1: a file of rate limits has no option "colour": it takes domain, descriptors',
      ],
    ],
    [
      'a domain that is a list',
      'domain: [a]\n',
      ['1:1: a file of rate limits needs a domain, such as domain: shop', '1:9: domain must be a text, got an array'],
    ],
    ['descriptors that are no list', 'domain: d\ndescriptors: 5\n', ['2:14: descriptors must be a list, got 5']],
    ['descriptors that are a map', 'domain: d\ndescriptors: {}\n', ['2:14: descriptors must be a list, got an object']],
    [
      'descriptors that are no maps, or have no key',
      'domain: d\ndescriptors: [a, { value: b, keys: c }]\n',
      [
        '2:15: a descriptor must be a map with a key, got "a"',
        '2:18: a descriptor needs a key, such as key: remote_address',
        '2:30: a descriptor has no option "keys", did you mean "key"?',
      ],
    ],
    [
      'the same twice',
      'domain: d\ndescriptors:\n  - key: a\n  - key: a\n  - { key: a, value: b }\n  - { key: a, value: b }\n  - { key: a, value: b* }\n  - { key: a, value: b* }\n',
      [
        '4:5: the descriptor a is there twice',
        '6:5: the descriptor a=b is there twice',
        '8:5: the descriptor a=b* is there twice',
      ],
    ],
    [
      'switches that are none',
      'domain: d\ndescriptors: [{ key: a, shadow_mode: 1, share_threshold: true }]\n',
      [
        '2:15: share_threshold is for a value that ends with *, such as value: files/*',
        '2:38: shadow_mode must be true or false, got 1',
      ],
    ],
    [
      'a limit that is no map',
      one('5'),
      ['4:17: rate_limit must be options by name, such as { unit: minute, requests_per_unit: 100 }, got 5'],
    ],
    [
      'a limit of nothing',
      one('{}'),
      [
        `4:5: unit must be one of ${UNITS}, got undefined`,
        '4:5: requests_per_unit must be a whole number from 0 to 4294967295, got undefined',
      ],
    ],
    [
      'numbers and units that are none',
      one('{ unit: fortnight, requests_per_unit: 4294967296, per: day }'),
      [
        `4:25: unit must be one of ${UNITS}, got "fortnight"`,
        '4:55: requests_per_unit must be a whole number from 0 to 4294967295, got 4294967296',
        '4:67: rate_limit has no option "per": it takes unit, requests_per_unit, unlimited, name, replaces, rule',
      ],
    ],
    [
      'a unit for what is unlimited',
      one('{ unlimited: true, unit: day }'),
      ['4:36: a limit that is unlimited has no unit'],
    ],
    [
      'a rule that does not exist',
      one('{ unit: day, requests_per_unit: 5, rule: sliding-windw, limt: 3 }'),
      [`4:58: rule must be one of ${RULES}, got "sliding-windw", did you mean "sliding-window"?`],
    ],
    [
      'a rule that is no text',
      one('{ unit: day, requests_per_unit: 5, rule: [a] }'),
      [`4:58: rule must be one of ${RULES}, got an array`],
    ],
    [
      'a rule with release',
      one('{ unit: day, requests_per_unit: 5, rule: concurrency }'),
      ['4:58: concurrency needs a release, which Envoy does not send'],
    ],
    [
      'a rule that waits',
      one('{ unit: day, requests_per_unit: 5, rule: leaky-bucket, mode: shape }'),
      ['4:58: mode: shape makes requests wait, which Envoy does not do'],
    ],
    [
      'an option of a rule that is wrong',
      one('{ unit: day, requests_per_unit: 5, rule: token-bucket, capacity: 0 }'),
      ['4:82: capacity must be a whole number of at least 1, got 0'],
    ],
    [
      'what replaces nothing, or itself',
      one('{ unit: day, requests_per_unit: 5, name: me, replaces: [{ name: me }, {}, other] }'),
      [
        '4:73: a limit cannot replace itself, got "me"',
        '4:87: replaces must have names, such as { name: per_user }',
        '4:91: replaces must have names, such as { name: per_user }',
      ],
    ],
    [
      'what replaces no list',
      one('{ unit: day, requests_per_unit: 5, replaces: { name: other } }'),
      ['4:62: replaces must be a list of names, such as [{ name: per_user }]'],
    ],
    [
      'a key that is a map',
      'domain: d\ndescriptors: [{ key: { a: b } }]\n',
      ['2:15: a descriptor needs a key, such as key: remote_address', '2:22: key must be a text, got an object'],
    ],
  ])('says what is wrong and where: %s', (_, text, problems) => {
    let error: unknown
    try {
      readRlsConfig(text, 'envoy.yaml')
    } catch (thrown) {
      error = thrown
    }
    expect(error).toBeInstanceOf(PoliciesError)
    expect((error as Error).message.split('\n')).toEqual(problems.map((problem) => `envoy.yaml:${problem}`))
  })
})
