import type { RuleForm } from '../rules/rule-form.ts'
import type { Field, JsonSchema } from './read-fields.ts'
import { FORMS, LIMIT_FIELDS, PREFETCH_FIELD } from './read-limit.ts'
import { KEY_PARTS, LONGEST_NAME, POLICY_FIELDS, TIERS_FIELDS } from './read-policy.ts'
import { listRuleFields } from './rule-fields.ts'

/**
 * The JSON Schema of a file of policies, from what reads such files. It knows names, types and ranges. Only the reader knows which
 * numbers are too large together and which options exclude each other.
 */
export function composePoliciesSchema(): JsonSchema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'A file of policies for Sluice',
    type: 'object',
    required: ['policies'],
    properties: { policies: { ...byName('policy'), description: 'limiters by name' } },
    patternProperties: { '^x-': { description: 'for what aliases repeat' } },
    additionalProperties: false,
    definitions: {
      policy: {
        type: 'object',
        if: { required: ['tiers'] },
        // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
        then: { $ref: '#/definitions/policyOfTiers' },
        else: { $ref: '#/definitions/policyOfOneRule' },
      },
      policyOfOneRule: composeLimit([...LIMIT_FIELDS, ...POLICY_FIELDS]),
      policyOfTiers: composeOptions(
        { tiers: { ...byName('tier', KEY_PARTS), description: 'limits by name: all of them have to agree' } },
        TIERS_FIELDS,
      ),
      tier: composeLimit(LIMIT_FIELDS),
    },
  }
}

function byName(definition: string, taken: readonly string[] = []): JsonSchema {
  return {
    type: 'object',
    minProperties: 1,
    propertyNames: { minLength: 1, maxLength: LONGEST_NAME, not: { enum: ['__proto__', ...taken] } },
    additionalProperties: { $ref: `#/definitions/${definition}` },
  }
}

function composeLimit(settings: readonly Field[]): JsonSchema {
  const names = FORMS.map(({ name }) => name)
  return {
    type: 'object',
    required: ['rule'],
    properties: { rule: { enum: names, description: 'how to count' } },
    allOf: FORMS.map((form) => ({
      if: { required: ['rule'], properties: { rule: { const: form.name } } },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
      then: composeRule(form, settings),
    })),
  }
}

function composeRule(form: RuleForm, settings: readonly Field[]): JsonSchema {
  const needed = form.fields.filter(({ example }) => example !== undefined)
  const { prefetches } = form.make(Object.fromEntries(needed.map(({ name, example }) => [name, example])))
  const fitting = settings.filter((field) => field !== PREFETCH_FIELD || prefetches === true)
  return composeOptions(
    { rule: { description: form.about } },
    [...listRuleFields(form), ...fitting],
    needed.map(({ name }) => name),
  )
}

/** A map of the given properties and of fields. @param needed the names of those that must be there */
function composeOptions(given: JsonSchema, fields: readonly Field[], needed: readonly string[] = []): JsonSchema {
  const properties = fields.map(({ name, about, schema }) => [name, { ...schema, description: about }] as const)
  return {
    type: 'object',
    properties: { ...given, ...Object.fromEntries(properties) },
    additionalProperties: false,
    required: needed,
  }
}
