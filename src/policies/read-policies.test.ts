import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../test/effort.ts'
import type { Rule } from '../core/rule.ts'
import * as exportedForms from '../rules/forms.ts'
import type { RuleForm } from '../rules/rule-form.ts'
import { createPolicyLimiter } from './create-policy-limiter.ts'
import { INVALID_FILES } from './invalid-files.examples.ts'
import { PoliciesError } from './policies-error.ts'
import { type Policies, readPolicies } from './read-policies.ts'
import { VALID_FILES } from './valid-files.examples.ts'

/** The same with the parameters of rules in their place. */
function inNumbers(options: object): unknown {
  return JSON.parse(JSON.stringify(options), (_, value) => (isRule(value) ? value.parameters : value))
}

function isRule(value: unknown): value is Rule {
  return typeof value === 'object' && value !== null && 'stateName' in value
}

async function assertLimiters(policies: Policies): Promise<void> {
  for (const policy of policies) await createPolicyLimiter(policy).close()
}

function findProblems(text: string): readonly string[] {
  try {
    readPolicies(text, 'limits.yaml')
  } catch (error) {
    if (!(error instanceof PoliciesError)) throw error
    const said = error.problems.map(({ line, column, reason }) => `${line}:${column}: ${reason}`)
    expect(error.message.split('\n').slice(0, 50)).toEqual(said.slice(0, 50).map((one) => `limits.yaml:${one}`))
    return said
  }
  return []
}

describe('a file of policies', () => {
  it.each(VALID_FILES)('says %s', async (_title, text, options) => {
    const policies = readPolicies(text, 'limits.yaml')
    expect(policies.map((policy) => inNumbers(policy.options))).toEqual(options)
    expect(policies.map(({ name }) => name)).toEqual(options.map((one) => (one as { name: string }).name))
    await assertLimiters(policies)
  })

  it.each(INVALID_FILES)('is refused with all that is wrong: %s', (_title, text, problems) => {
    expect(findProblems(text)).toEqual(problems)
  })

  it.each(Object.values(exportedForms) as RuleForm[])('takes the rule $name in the words of its form', (form) => {
    const lines = form.fields
      .filter(({ example }) => example !== undefined)
      .map((field) => `    ${field.name}: ${field.example}\n`)
    const [policy] = readPolicies(`policies:\n  api:\n    rule: ${form.name}\n${lines.join('')}`, 'limits.yaml')
    expect(policy?.options).toHaveProperty('rule.limit', 100 === form.fields[0]?.example ? 100 : 10)
  })
})

describe('unlikely files', () => {
  it('more than fifty problems are counted', () => {
    const text = `policies:\n${Array.from({ length: 60 }, (_, index) => `  p${index}: 1\n`).join('')}`
    expect(() => readPolicies(text, 'limits.yaml')).toThrow(/limits\.yaml:51:\d+: .*\nlimits\.yaml: and 10 more$/)
    expect(findProblems(text)).toHaveLength(60)
  })

  it('a file that is too long is not read', () => {
    expect(findProblems('#'.repeat(200_001))).toEqual(['1:1: the file must have at most 200000 characters, got 200001'])
  })

  it('a few lines of aliases that stand for millions of values are refused', () => {
    const lines = ['x-0: &a0 { v: 1 }']
    for (let level = 1; level < 9; level++) {
      lines.push(
        `x-${level}: &a${level} { ${Array.from({ length: 10 }, (_, at) => `k${at}: *a${level - 1}`).join(', ')} }`,
      )
    }
    const startMs = performance.now()
    expect(findProblems(`${lines.join('\n')}\n`)[0]).toMatch(/aliases must not repeat more than 10000 values$/)
    expect(performance.now() - startMs).toBeLessThan(5_000)
  })

  it.each([
    ['maps', '{a: '.repeat(50_000), 120],
    ['lists', '['.repeat(200_000), 30],
    ['dashes', '- '.repeat(90_000), 60],
    ['question marks', '? '.repeat(90_000), 60],
    ['colons', ': '.repeat(90_000), 60],
    ['names of flow maps', '{? '.repeat(60_000), 90],
    ['closed maps', `${'{a: '.repeat(40)}1${'}'.repeat(40)}`, 120],
  ])('%s inside one another are refused, however deep', (_, text, farthest) => {
    const problems = findProblems(text)
    expect(problems).toHaveLength(1)
    const [, column = '', reason] = /^1:(\d+): (.*)$/.exec(problems[0] as string) ?? []
    expect(reason).toBe('values must be nested at most 20 deep')
    expect(Number(column)).toBeLessThan(farthest as number)
  })

  it('values of 20 in one another are read, and their lines are reported as before', () => {
    const text = `x-deep: ${'['.repeat(19)}${']'.repeat(19)}\npolicies:\n  api: 1\n`
    expect(findProblems(text)).toEqual([
      '3:8: the policy "api" must be options by name, such as { rule: sliding-window, limit: 100, window: 1m }',
    ])
    expect(findProblems(text.replace('[]', '[[[]]]'))).toEqual(['1:29: values must be nested at most 20 deep'])
  })

  const word = fc.oneof(
    fc.constantFrom(
      'policies',
      'api',
      'rule',
      'tiers',
      'limit',
      'window',
      'sliding-window',
      '1m',
      'shadow',
      '<<',
      '*a',
      '&a',
    ),
    fc.constantFrom(
      '100',
      '-1',
      '1.5',
      '.inf',
      '~',
      'true',
      '"x"',
      '!t',
      '|',
      '>',
      '- ',
      '? ',
      '%',
      '\t',
      "'",
      '{',
      '}',
      '[',
      ']',
      '#',
    ),
    fc.string({ unit: 'binary', maxLength: 5 }),
  )
  const soup = fc
    .array(fc.tuple(word, fc.constantFrom(' ', ': ', '\n', '\n  ', '\n    ', ', ', '')))
    .map((parts) => parts.flat().join(''))
  const tree = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom<unknown>(0, 1, 100, -1, null, true, '1m', 'soon', 'fixed-window'),
      tie('map'),
    ),
    map: fc.dictionary(
      fc.constantFrom(
        'rule',
        'limit',
        'window',
        'windowMs',
        'tiers',
        'shadow',
        'user',
        'ip',
        'deadline',
        '__proto__',
        'x',
      ),
      tie('value'),
    ),
  })).map

  it('whatever the text, it is read or refused by a PoliciesError, and what is read makes limiters', async () => {
    const texts = fc.oneof(
      soup,
      fc.string({ unit: 'binary' }),
      tree.map((map) => JSON.stringify({ policies: map })),
    )
    await fc.assert(
      fc.asyncProperty(texts, async (text) => {
        try {
          await assertLimiters(readPolicies(text, 'limits.yaml'))
        } catch (error) {
          expect(error).toBeInstanceOf(PoliciesError)
        }
      }),
      { numRuns: runs('limiter') },
    )
  })

  it('whatever the numbers, a limit is taken if and only if its rule takes them', () => {
    const number = fc.oneof(fc.integer({ min: -1, max: 3 }), fc.constantFrom(1e9, 2 ** 53, 0.5, 1e308))
    fc.assert(
      fc.property(number, number, number, (limit, windowMs, maxDebt) => {
        const options = { limit, windowMs, maxDebt }
        const text = JSON.stringify({ policies: { api: { rule: 'sliding-window', ...options } } })
        let isTaken = true
        try {
          exportedForms.slidingWindowForm.make(options)
        } catch {
          isTaken = false
        }
        expect(findProblems(text).length === 0).toBe(isTaken)
      }),
    )
  })
})
