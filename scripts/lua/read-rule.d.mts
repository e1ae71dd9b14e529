/** What the header of a rule's file says of one argument. */
export interface ScriptParameter {
  readonly name: string
  readonly text: string
  readonly least: string | undefined
  readonly most: string | undefined
  readonly choices: readonly string[] | undefined
  readonly fallback: string | undefined
}
/** What the header of a rule's file says. */
export interface ScriptRule {
  readonly name: string
  readonly purpose: string
  readonly state: string
  readonly parameters: readonly ScriptParameter[]
  readonly exact: string | undefined
  readonly needs: string | undefined
  readonly holds: 'pooled' | 'dated' | 'leased'
  readonly plain: string
  /** What the full script knows of it: fields beside its limit, and which functions read, write and step its state. */
  readonly full: string
  readonly functions: string
}
export function ruleNames(): string[]
export function readRule(name: string): ScriptRule
export function readFunctions(path: string): string
