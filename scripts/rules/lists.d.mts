import type { RuleForm } from '../../src/rules/rule-form.ts'

export function ruleModules(root?: string): Readonly<Record<string, string>>
export function rulePages(forms: readonly RuleForm[], root?: string): Readonly<Record<string, string>>
