import type { Rule } from '../../core/rule.ts'
import type { KeyState } from '../../engine/key-state.ts'

/** How many rules that a state may have been counted by are known. */
const MOST_RULES = 1_000

/** Turns states into texts and back. A text names the rule that counted its state, where that may change. */
export class StateTexts {
  readonly #rules = new Map<string, Rule>()

  /** The state as a text, which holds all that has to be stored of it. */
  encode({ state, block, holds, countedBy, convertedOnRefusal }: KeyState): string {
    if (countedBy !== undefined) this.learn(countedBy)
    return JSON.stringify({ state, block, holds, countedBy: countedBy && nameRule(countedBy), convertedOnRefusal })
  }

  /**
   * The state of a text. A rule that was not met since the object was woken is unknown, and the state is then read by the rule of its
   * next decision: as after a deployment with other options.
   */
  decode(text: string): KeyState {
    const { countedBy, ...rest } = JSON.parse(text)
    const rule = this.#rules.get(countedBy)
    return { ...rest, countedBy: rule, convertedOnRefusal: rule && rest.convertedOnRefusal }
  }

  /** Remembers a rule. */
  learn(rule: Rule): void {
    const name = nameRule(rule)
    if (this.#rules.has(name)) return
    const [oldest] = this.#rules.keys()
    if (this.#rules.size >= MOST_RULES) this.#rules.delete(oldest as string)
    this.#rules.set(name, rule)
  }
}

function nameRule({ stateName, identity }: Rule): string {
  return `${stateName} ${identity}`
}
