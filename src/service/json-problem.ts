import { show } from '../core/check.ts'

/** The part of a text that is looked through: what is wrong after it is not worth the time. */
const MOST_CHARACTERS = 100_000
/** The longest token that the end of that part may have cut in two. */
const LONGEST_TOKEN = 10

/**
 * Says where a text stops being JSON, and what is there. For a text that `JSON.parse` has refused. Of what is wrong far behind its
 * start it says only that.
 */
export function findJsonProblem(text: string): string {
  const scan = new Scan(text.slice(0, MOST_CHARACTERS))
  scan.run()
  const { position } = scan
  if (text.length > MOST_CHARACTERS && position > MOST_CHARACTERS - LONGEST_TOKEN) {
    return `something after position ${MOST_CHARACTERS - LONGEST_TOKEN} does not belong there`
  }
  const before = text.slice(0, position)
  const line = before.split('\n').length
  const column = position - before.lastIndexOf('\n')
  const found = text.slice(position, position + 1)
  const what = found === '' ? 'it ends there' : `${show(found)} does not belong there`
  return `at position ${position} (line ${line}, column ${column}) ${what}`
}

type Expected = 'value' | 'value or ]' | 'name' | 'name or }' | 'colon' | 'comma or end'

const SPACE = /[ \t\n\r]*/y
const PLAIN = /[^"\\\p{Cc}]+|[\u007f-\u009f]+/uy
const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y
const WORD = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y

/** Walks over a text token by token for as long as it is JSON. Not by recursion: a hostile text may nest as deep as it is long. */
class Scan {
  position = 0
  readonly #text: string
  readonly #open: ('{' | '[')[] = []
  #expected: Expected = 'value'

  constructor(text: string) {
    this.#text = text
  }

  run(): void {
    do this.#skip(SPACE)
    while (this.#step())
  }

  #step(): boolean {
    switch (this.#expected) {
      case 'name':
      case 'name or }':
        if (this.#expected === 'name or }' && this.#take('}')) return this.#close()
        return this.#string() && this.#expect('colon')
      case 'colon':
        return this.#take(':') && this.#expect('value')
      case 'comma or end':
        return this.#afterValue()
      default:
        return this.#value()
    }
  }

  #value(): boolean {
    if (this.#expected === 'value or ]' && this.#take(']')) return this.#close()
    if (this.#take('{')) {
      this.#open.push('{')
      return this.#expect('name or }')
    }
    if (this.#take('[')) {
      this.#open.push('[')
      return this.#expect('value or ]')
    }
    return (this.#string() || this.#skip(WORD)) && this.#expect('comma or end')
  }

  #string(): boolean {
    if (!this.#take('"')) return false
    let isInside = true
    while (isInside) isInside = this.#skip(PLAIN) || this.#skip(ESCAPE)
    return this.#take('"')
  }

  #afterValue(): boolean {
    const inside = this.#open.at(-1)
    if (inside === undefined) return false
    if (this.#take(',')) return this.#expect(inside === '{' ? 'name' : 'value')
    return this.#take(inside === '{' ? '}' : ']') && this.#close()
  }

  #close(): boolean {
    this.#open.pop()
    return this.#expect('comma or end')
  }

  #expect(what: Expected): boolean {
    this.#expected = what
    return true
  }

  #take(character: string): boolean {
    if (this.#text[this.position] !== character) return false
    this.position++
    return true
  }

  #skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.position
    if (!pattern.test(this.#text)) return false
    this.position = pattern.lastIndex
    return true
  }
}
