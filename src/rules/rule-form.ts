import type { Rule } from '../core/rule.ts'

/** How people ask for a rule by name: in a file of policies, on the command line and on the page. */
export interface RuleForm {
  /** The rule's name, such as `token-bucket`. */
  readonly name: string
  /** The function that makes it, such as `tokenBucket`. */
  readonly factory: string
  /** What it is for, in one sentence. */
  readonly about: string
  /** The options of the factory, in the order in which people think of them. */
  readonly fields: readonly RuleField[]
  /**
   * What each mode is for, in a few words, by what the simulator calls it: the rule's name, and a choice that is not the default
   * one. Empty for another name of a rule.
   */
  readonly uses: Readonly<Record<string, string>>
  make(options: Readonly<Record<string, unknown>>): Rule
}

/** One option of a rule. What reads fields says for each kind what it does: the compiler finds a kind that is forgotten. */
export type RuleField = CountField | DurationField | ChoiceField

/** A whole number. */
interface CountField extends NamedField {
  readonly kind: 'count'
  /** A value to begin with. Absent: the option may be left out. */
  readonly example?: number
  readonly choices?: undefined
}

/** A length of time. */
interface DurationField extends NamedField {
  readonly kind: 'duration'
  /** A value to begin with, in words. Absent: the option may be left out. */
  readonly example?: string
  readonly choices?: undefined
}

/** One of several words. It may always be left out. */
interface ChoiceField extends NamedField {
  readonly kind: 'choice'
  /** The first one is the default. */
  readonly choices: readonly [string, ...string[]]
  readonly example?: undefined
}

interface NamedField {
  /** As the factory calls it, such as `window`. */
  readonly name: string
  readonly about: string
}
